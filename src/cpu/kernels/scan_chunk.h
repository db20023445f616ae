// The forward scan of one chunk, as steps over scratch buffers; one table of steps per instruction
// set. The formulas are those of docs/algorithm.md: within a chunk of q tokens, a_i is the sum of
// dt_s * A over s <= i, and
//
//   CB[i][j]  = C_i . B_j                                         for j <= i
//   M[i][j]   = CB[i][j] exp(a_i - a_j) dt_j  (+ D on the diagonal)
//   out_i     = exp(a_i) H C_i + sum_{j <= i} M[i][j] x_j
//   H'        = exp(a_last) H + sum_j exp(a_last - a_j) dt_j x_j B_j^T
//
// Everything a row or column of a result needs is added in an order that depends on its own
// position only, so the bits do not depend on how the work is cut among tiles and threads, nor on
// what follows.
#ifndef TILESCAN_CPU_KERNELS_SCAN_CHUNK_H_
#define TILESCAN_CPU_KERNELS_SCAN_CHUNK_H_

#include <cstdint>
#include <span>

#include "core/workspace.h"
#include "cpu/kernels/row.h"

namespace tilescan::cpu {

// The sizes of the buffers; the same for every chunk of a run.
struct ChunkShape {
  int64_t chunk_size = 0;  // tokens at most
  int64_t headdim = 0;
  int64_t dstate = 0;
  int64_t padded_headdim = 0;    // to whole vectors
  int64_t padded_chunk = 0;      // to whole register tiles: the row length of BT, CB and M
  int64_t padded_dstate = 0;     // the row length of C
  int64_t strip_vectors = 0;     // vectors in a strip of headdim; the first num_wider_strips have
  int64_t num_wider_strips = 0;  //   one more
};

// Of one group and chunk; shared by the heads of the group.
struct GroupBuffers {
  float* C = nullptr;   // (chunk_size, padded_dstate)
  float* BT = nullptr;  // (dstate, padded_chunk): B transposed
  float* CB = nullptr;  // (chunk_size, padded_chunk), what lies right of the diagonal is undefined

  static GroupBuffers Take(Carver& carver, const ChunkShape& shape);
};

// Of one head and chunk. x and x_weighted are stored in strips of a register tile's width, each
// strip (chunk_size, width) by itself.
struct HeadBuffers {
  float* x = nullptr;           // (chunk_size, padded_headdim); becomes out
  float* x_weighted = nullptr;  // (chunk_size, padded_headdim)
  float* M = nullptr;           // (chunk_size, padded_chunk)
  float* rows = nullptr;        // four of B or a state, or one of out and its gate
  float* dt = nullptr;          // (padded_chunk): the processed step
  float* a_high = nullptr;      // (padded_chunk): a as a sum of two floats, since M needs the
  float* a_low = nullptr;       //   difference of two of them, which cancels
  float* decay = nullptr;       // (padded_chunk): exp(a)
  float* inverse = nullptr;     // (padded_chunk): exp(-a) dt, infinite behind a strong decay
  float* weight = nullptr;      // (padded_chunk): exp(a_last - a_j) dt_j

  static HeadBuffers Take(Carver& carver, const ChunkShape& shape);
};

// A head's parameters.
struct HeadParameters {
  float A = 0.0f;
  float D = 0.0f;
  const float* D_row = nullptr;  // (padded_headdim), when D is given per channel; else null
  float dt_bias = 0.0f;
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = 0.0f;
};

// The x that load_x will read next.
struct NextX {
  Rows rows;  // without data: not known
  int64_t num_tokens = 0;
};

struct ScanChunkSteps {
  const char* instruction_set;
  int64_t hwy_target;  // the bit of hwy::SupportedTargets()
  bool is_baseline;    // runs on every machine

  ChunkShape (*shape)(int64_t chunk_size, int64_t headdim, int64_t dstate);

  // C, BT and CB from num_tokens rows of B and C. `rows` is that of HeadBuffers.
  void (*pack_group)(const ChunkShape& shape, const Rows& B, const Rows& C, int64_t num_tokens,
                     float* rows, const GroupBuffers& group);

  // dt, a, exp(a) and exp(-a) dt from num_tokens raw steps.
  void (*chunk_cumsum)(const Rows& dt, int64_t num_tokens, const HeadParameters& parameters,
                       const HeadBuffers& head);

  // x from the caller's memory.
  void (*load_x)(const ChunkShape& shape, const Rows& from, int64_t num_tokens, float* x);

  // The same way back, out being where x was: the gate (z without data: none) and the dtype.
  // past_caches: written without a place in the caches, for outs larger than they are.
  void (*store_out)(const ChunkShape& shape, const float* x, const Rows& z, int64_t num_tokens,
                    bool past_caches, float* row, const Rows& out);

  // x_weighted of the first num_tokens tokens, for pass_state.
  void (*weigh_x)(const ChunkShape& shape, const HeadBuffers& head, int64_t num_tokens);

  // out (before the gate) in the place of x, from the state before the chunk (null: zero). Asks
  // for next_x meanwhile.
  void (*compute_out)(const ChunkShape& shape, const GroupBuffers& group, const HeadBuffers& head,
                      const HeadParameters& parameters, const float* state, int64_t num_tokens,
                      const NextX& next_x);

  // The state after num_tokens tokens of the chunk, from that before it (null: zero) and x_weighted
  // of as many tokens. In place is allowed. Asks meanwhile for the state that compute_out reads
  // next (null: not known).
  void (*pass_state)(const ChunkShape& shape, const GroupBuffers& group, const HeadBuffers& head,
                     int64_t num_tokens, const float* state_before, float* state_after,
                     const float* next_state);

  // state_after = factor * state_before + contribution: pass_state with its two halves apart, where
  // contribution is what pass_state gives for a zero state. The same bits.
  void (*add_decayed)(const ChunkShape& shape, float factor, const float* state_before,
                      const float* contribution, float* state_after);

  // Between a state (headdim, dstate) of the caller and the layout of the steps: strips of
  // (dstate, width).
  void (*load_state)(const ChunkShape& shape, const Rows& from, float* rows, float* state);
  void (*store_state)(const ChunkShape& shape, const float* state, float* rows, const Rows& to);
};

// One for each instruction set compiled in, weakest first.
std::span<const ScanChunkSteps> AllScanChunkSteps();

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_SCAN_CHUNK_H_
