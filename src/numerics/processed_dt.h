// The processed step: what the recurrence calls dt, made from the caller's dt.
#ifndef TILESCAN_NUMERICS_PROCESSED_DT_H_
#define TILESCAN_NUMERICS_PROCESSED_DT_H_

#include <concepts>

#include "numerics/activations.h"

namespace tilescan::numerics {

// How it is made; the bounds are floats in the public interface, and so here for every Real.
struct DtOptions {
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = 0.0f;
};

// clamp(softplus(dt + dt_bias), dt_limit_min, dt_limit_max), softplus only if options say so;
// without a bias dt_bias is 0. Any value; NaN gives NaN, whatever the limits. Without softplus the
// sum is rounded once; with it within 4 ulp of softplus of the rounded sum.
template <std::floating_point Real>
TILESCAN_HOST_DEVICE Real ProcessedDt(Real dt, Real dt_bias, const DtOptions& options) {
  Real value = dt + dt_bias;
  if (options.dt_softplus) value = Softplus(value);
  // Written so that NaN passes both comparisons.
  if (value < static_cast<Real>(options.dt_limit_min)) return options.dt_limit_min;
  if (value > static_cast<Real>(options.dt_limit_max)) return options.dt_limit_max;
  return value;
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_PROCESSED_DT_H_
