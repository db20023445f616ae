// The forward scan of 16-bit operands on a matrix unit, as steps over scratch buffers. The formulas
// are those of scan_chunk.h, with all products of bf16 factors and fp32 sums:
//
//   out_i  = exp(a_i) (H C_i + sum_{j <= i} CB[i][j] exp(-a_j) dt_j x_j) + D x_i
//   H'     = exp(a_last) H + sum_j (exp(a_last - a_j) dt_j x_j) B_j^T
//
// Both terms of out_i are summed in one tile as long as the decay up to token i is moderate; behind
// a strong one the second is summed apart with the weights exp(a_i - a_j) dt_j. Rounded to bf16
// are the state before a chunk, the weighted x of the state and the weighted CB; the last two are
// sums of two bf16 where they matter most: in the chunk's last 32 tokens, and among 32 tokens. x, B
// and C are what they are.
//
// What is computed of a token depends on its position and on tokens before it only, so the bits do
// not depend on how heads and blocks of chunks are cut among threads, nor on what follows.
#ifndef TILESCAN_CPU_KERNELS_SCAN_AMX_H_
#define TILESCAN_CPU_KERNELS_SCAN_AMX_H_

#include <cstdint>
#include <span>

#include "core/workspace.h"
#include "cpu/kernels/row.h"
#include "cpu/kernels/scan_chunk.h"

namespace tilescan::cpu {

// Sizes in tiles of 16 rows by 64 bytes. A bf16 factor's depth goes in steps of 32: depths k and
// k + 16 of a step are a pair.
struct AmxShape {
  int64_t chunk_size = 0;  // a multiple of 32
  int64_t headdim = 0;
  int64_t dstate = 0;
  int64_t padded_headdim = 0;    // to 32
  int64_t padded_dstate = 0;     // to 32
  int64_t chunks_per_block = 1;  // what a head goes through at a time

  int64_t chunk_steps() const { return chunk_size / 32; }
  int64_t state_steps() const { return padded_dstate / 32; }
  int64_t headdim_tiles() const { return padded_headdim / 16; }
  // A state is fp32 tiles (dstate / 16, headdim / 16), each (16 of dstate, 16 of headdim).
  int64_t state_elements() const { return padded_dstate * padded_headdim; }
};

// Of one group and chunk; shared by the heads of the group and all threads. Tokens that are not
// there are zeros.
struct AmxGroupBuffers {
  uint32_t* C = nullptr;   // left tiles (chunk / 16, dstate / 32)
  uint32_t* BT = nullptr;  // left tiles (dstate / 16, chunk / 32)
  float* CB = nullptr;     // (chunk / 16, chunk / 32, 16, 32): zero right of the diagonal

  static AmxGroupBuffers Take(Carver& carver, const AmxShape& shape);
};

// Of one head and chunk: there are two, for the one that is computed and the one that comes next.
struct AmxChunkBuffers {
  uint32_t* x = nullptr;           // right tiles (chunk / 32, headdim / 16)
  uint32_t* x_weighted = nullptr;  // likewise
  // Right tiles (1, headdim / 16): the low parts of x_weighted of the last step that has tokens.
  uint32_t* x_weighted_low = nullptr;
  uint32_t* M = nullptr;         // left tiles (chunk / 16, chunk / 32), the high parts, then the
                                 //   low ones; rows behind a strong decay are zero
  uint32_t* M_strong = nullptr;  // those rows
  HeadBuffers decays;            // dt, a_high, a_low, decay, inverse and weight
  int64_t num_weak = 0;          // tokens before the first strong decay

  static AmxChunkBuffers Take(Carver& carver, const AmxShape& shape);
};

struct AmxThreadBuffers {
  AmxChunkBuffers chunks[2];
  uint32_t* state = nullptr;        // right tiles (dstate / 32, headdim / 16): the state before the
                                    //   chunk, rounded
  float* sums = nullptr;            // fp32 tiles (2, 2, 2, 2) of out, of two products
  float* rows = nullptr;            // four of B or a state
  uint32_t* group_tiles = nullptr;  // (dstate / 8) tiles on the way to a group's buffers
  float* partial_state = nullptr;   // a state
  float* D_row[2] = {};             // (padded_headdim)

  static AmxThreadBuffers Take(Carver& carver, const AmxShape& shape);
};

// A head's way through a block of chunks.
struct AmxHead {
  Rows x, dt, z, out;  // from the block's first token on
  int64_t num_tokens = 0;
  HeadParameters parameters;
  const AmxGroupBuffers* groups = nullptr;  // one for each chunk of the block
  float* state = nullptr;                   // before the block; becomes that behind it
  bool past_caches = false;
};

struct ScanAmxSteps {
  const char* instruction_set;  // of everything besides the matrix unit
  int64_t hwy_target;
  bool is_emulated;  // the matrix unit is software

  AmxShape (*shape)(int64_t chunk_size, int64_t headdim, int64_t dstate);

  // C, BT and CB from num_tokens rows of B and C, which are bf16.
  void (*pack_group)(const AmxShape& shape, const Rows& B, const Rows& C, int64_t num_tokens,
                     const AmxThreadBuffers& thread, const AmxGroupBuffers& group);

  // Takes a head through a block. Meanwhile prepares the first chunk of `next` (null: none), so
  // that the call for that one is to be made with is_prepared. *parity says which of the thread's
  // chunk buffers is whose, from call to call.
  void (*scan_block)(const AmxShape& shape, const AmxHead& head, bool is_prepared,
                     const AmxHead* next, AmxThreadBuffers* thread, int* parity);

  // thread->partial_state = the state behind num_tokens tokens of the head's first chunk. Between
  // calls of scan_block, with the same parity.
  void (*pass_state)(const AmxShape& shape, const AmxHead& head, int64_t num_tokens,
                     AmxThreadBuffers* thread, int parity);

  // Between a state (headdim, dstate) of the caller and the tiles.
  void (*load_state)(const AmxShape& shape, const Rows& from, float* rows, float* state);
  void (*store_state)(const AmxShape& shape, const float* state, float* rows, const Rows& to);
};

// The emulated ones, weakest first; then that on the machine's unit, if this build has it.
std::span<const ScanAmxSteps> AllScanAmxSteps();

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_H_
