// The decoding step of one head, over scratch buffers; one table of steps per instruction set.
//
//   state = exp(dt A) state + dt x B^T ;  out = state C + D x ;  with z: out *= silu(z)
//
// A state is read and written once, whatever the number of tokens. Each row of headdim is computed
// alike wherever it stands, so bits do not depend on how rows are grouped.
#ifndef TILESCAN_CPU_KERNELS_STATE_STEP_H_
#define TILESCAN_CPU_KERNELS_STATE_STEP_H_

#include <cstdint>
#include <span>

#include "core/workspace.h"
#include "cpu/kernels/row.h"

namespace tilescan::cpu {

struct StepShape {
  int64_t num_tokens = 1;
  int64_t nheads = 0;
  int64_t headdim = 0;
  int64_t dstate = 0;
  int64_t padded_nheads = 0;  // these to whole vectors, and blocks of four
  int64_t padded_headdim = 0;
  int64_t padded_dstate = 0;
};

// Rows of headdim whose sums are made together, and that are taken out together where a step cannot
// be done in place.
inline constexpr int64_t kRowsTogether = 4;

// One thread's scratch.
struct StepBuffers {
  float* A = nullptr;        // (padded_nheads)
  float* dt_bias = nullptr;  // (padded_nheads)
  float* dt = nullptr;       // (num_tokens, padded_nheads): the processed step
  float* dA = nullptr;       // (num_tokens, padded_nheads): exp(dt A)
  float* B = nullptr;        // (num_tokens, padded_dstate), zero behind dstate
  float* C = nullptr;        // (num_tokens, padded_dstate), zero behind dstate
  float* x = nullptr;        // (num_tokens, padded_headdim)
  float* out = nullptr;      // (num_tokens, padded_headdim)
  float* gate = nullptr;     // (padded_headdim): z
  float* D_row = nullptr;    // (padded_headdim): D, per channel or the head's one value
  float* rows = nullptr;     // (kRowsTogether, padded_dstate): of a state

  static StepBuffers Take(Carver& carver, const StepShape& shape);
};

struct StepRule {
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = 0.0f;
};

// One head of one batch row.
struct StepHead {
  Rows state;                // along headdim
  Rows x, z, out;            // along the tokens; z.data null: no gate
  int64_t head_idx = 0;      // in dt and dA
  bool has_D = false;        // D_row is filled
  bool is_fresh = false;     // the state counts as zeros
  int64_t num_accepted = 0;  // tokens that the state keeps
};

struct StateStepSteps {
  const char* instruction_set;
  int64_t hwy_target;  // the bit of hwy::SupportedTargets()
  bool is_baseline;    // runs on every machine
  int64_t num_lanes;   // of fp32

  StepShape (*shape)(int64_t num_tokens, int64_t nheads, int64_t headdim, int64_t dstate);

  // A row of any operand to fp32, zero up to `padded`.
  void (*load_row)(const Rows& from, int64_t count, int64_t padded, float* to);

  // dt and dA of heads [first_head, end_head) from a batch row's raw steps; dt's rows run along
  // the tokens, its elements along the heads.
  void (*prepare_dt)(const StepShape& shape, const Rows& dt, const StepRule& rule,
                     int64_t first_head, int64_t end_head, const StepBuffers& buffers);

  // state and out of one head, whose B, C and D_row are loaded.
  void (*update_head)(const StepShape& shape, const StepHead& head, const StepBuffers& buffers);
};

// One for each instruction set compiled in, weakest first.
std::span<const StateStepSteps> AllStateStepSteps();

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_STATE_STEP_H_
