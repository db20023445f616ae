// The forward scan as plain data: what api/ makes of the caller's struct, and what kernels get.
// Shapes and meaning of each operand: include/tilescan/tilescan.h.
#ifndef TILESCAN_CORE_SCAN_FORWARD_H_
#define TILESCAN_CORE_SCAN_FORWARD_H_

#include <cstdint>
#include <limits>

#include "core/tensor_view.h"

namespace tilescan {

// The operands, as described by the caller. In a plan the data pointers are null.
struct ScanForwardOperands {
  TensorView x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens;
  TensorView out, final_states, states_out;
  int64_t states_every = 0;
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = std::numeric_limits<float>::infinity();
};

struct ScanSizes {
  int64_t batch = 0;
  int64_t seqlen = 0;
  int64_t nheads = 0;
  int64_t headdim = 0;
  int64_t ngroups = 1;
  int64_t dstate = 0;
  int64_t num_seqs = 0;  // batch, or the number of packed sequences
};

// A validated problem: sizes agree with every operand.
struct ScanForwardProblem {
  ScanSizes sizes;
  ScanForwardOperands operands;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_SCAN_FORWARD_H_
