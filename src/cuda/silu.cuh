// silu for results of either precision.
#ifndef TILESCAN_CUDA_SILU_CUH_
#define TILESCAN_CUDA_SILU_CUH_

#include "numerics/activations.h"

namespace tilescan::cuda {

// is_exact: as numerics::Silu(). Else with the GPU's approximate division, of numbers in [1, 2]:
// within 4 ulp, far below half an ulp of a 16-bit result. NaN and infinity give the same.
inline __device__ float SiluOf(float value, bool is_exact) {
  if (is_exact) return numerics::Silu(value);
  const float decay = expf(-fabsf(value));
  return __fdividef(value < 0.0f ? value * decay : value, 1.0f + decay);
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_SILU_CUH_
