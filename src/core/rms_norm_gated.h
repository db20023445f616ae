// The gated RMSNorm as plain data. Shapes and meaning of each operand: include/tilescan/layer.h.
#ifndef TILESCAN_CORE_RMS_NORM_GATED_H_
#define TILESCAN_CORE_RMS_NORM_GATED_H_

#include <cstdint>

#include "core/tensor_view.h"

namespace tilescan {

struct RmsNormGatedForwardOperands {
  TensorView x, weight, bias, z, out;
  int64_t group_size = 0;  // as given: 0 stands for dim
  float eps = 1e-5f;
  bool norm_before_gate = false;
};

struct RmsNormGatedForwardSizes {
  int64_t batch = 0;
  int64_t seqlen = 1;
  int64_t dim = 0;
  int64_t group_size = 0;  // divides dim
};

// In normal form: x, z and out are (batch, seqlen, dim).
struct RmsNormGatedForwardProblem {
  RmsNormGatedForwardSizes sizes;
  RmsNormGatedForwardOperands operands;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_RMS_NORM_GATED_H_
