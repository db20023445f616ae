// What float64 operands mean for backends that compute in float32.
#ifndef TILESCAN_CORE_FLOAT64_H_
#define TILESCAN_CORE_FLOAT64_H_

#include <string>

#include "core/tensor_view.h"

namespace tilescan {

// Empty, or why such a backend refuses the problem of this x. Operands are float64 only beside an x
// that is (plan/check_operands.h), so x stands for all.
inline std::string ReasonAgainstFloat64(const TensorView& x) {
  if (x.dtype != DType::kFloat64) return "";
  return "x is float64, which only the reference backend computes";
}

}  // namespace tilescan

#endif  // TILESCAN_CORE_FLOAT64_H_
