// The decoding step as plain data. Shapes and meaning of each operand: include/tilescan/tilescan.h.
#ifndef TILESCAN_CORE_STATE_UPDATE_H_
#define TILESCAN_CORE_STATE_UPDATE_H_

#include <cstdint>
#include <limits>

#include "core/tensor_view.h"

namespace tilescan {

struct StateUpdateOperands {
  TensorView state, x, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh, num_accepted, out;
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = std::numeric_limits<float>::infinity();
};

struct StateUpdateSizes {
  int64_t batch = 0;
  int64_t num_tokens = 1;  // T
  int64_t num_slots = 0;
  int64_t nheads = 0;
  int64_t headdim = 0;
  int64_t ngroups = 1;
  int64_t dstate = 0;
};

// A validated problem, in one normal form: x, dt, B, C, z and out have their token dimension (of
// size 1 and stride 0 where the caller gave none), dt is (batch, T, nheads), A and dt_bias are
// (nheads), and D is (nheads) or (nheads, headdim).
struct StateUpdateProblem {
  StateUpdateSizes sizes;
  StateUpdateOperands operands;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_STATE_UPDATE_H_
