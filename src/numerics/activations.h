// softplus, sigmoid and silu, for float and double. Bounds hold for a standard library whose exp
// and log1p are within 1 ulp and 2 ulp, as glibc's are.
#ifndef TILESCAN_NUMERICS_ACTIVATIONS_H_
#define TILESCAN_NUMERICS_ACTIVATIONS_H_

#include <cmath>
#include <concepts>

#include "core/host_device.h"

namespace tilescan::numerics {

// Above it softplus is the identity, in float and double alike: models are trained with it.
inline constexpr double kSoftplusThreshold = 20.0;

// log(1 + exp(value)), and value itself above 20. Any value: -inf gives 0, NaN gives NaN. Within
// 4 ulp of that definition where the result is normal; a result below is denormal or 0, within one
// denormal step. log1p, not log(1 + ...): small steps would be lost.
template <std::floating_point Real>
TILESCAN_HOST_DEVICE Real Softplus(Real value) {
  if (value > static_cast<Real>(kSoftplusThreshold)) return value;
  return std::log1p(std::exp(value));
}

// 1 / (1 + exp(-value)). Any value; within 3 ulp where the result is normal; NaN gives NaN. For
// negative values it is exp(value) / (1 + exp(value)), so that nothing overflows.
template <std::floating_point Real>
TILESCAN_HOST_DEVICE Real Sigmoid(Real value) {
  if (value >= Real{0}) return Real{1} / (Real{1} + std::exp(-value));
  const Real exp_value = std::exp(value);
  return exp_value / (Real{1} + exp_value);
}

// value * sigmoid(value). Within 4 ulp where sigmoid's result is normal (float: value above -86,
// double: above -707); below, the absolute error is at most 2 |value| denormal steps. -inf gives
// NaN, as the product -inf * 0 does.
template <std::floating_point Real>
TILESCAN_HOST_DEVICE Real Silu(Real value) {
  return value * Sigmoid(value);
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_ACTIVATIONS_H_
