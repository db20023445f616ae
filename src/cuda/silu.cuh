// silu for results of either precision.
#ifndef TILESCAN_CUDA_SILU_CUH_
#define TILESCAN_CUDA_SILU_CUH_

#include "numerics/activations.h"

namespace tilescan::cuda {

// is_exact: as numerics::Silu(). Else with the GPU's approximate division, within 4 ulp for values
// above -87: far below half an ulp of a 16-bit result. Below, the result may be 0, off by less than
// any 16-bit number. NaN and infinity give the same.
inline __device__ float SiluOf(float value, bool is_exact) {
  if (is_exact) return numerics::Silu(value);
  return __fdividef(value, 1.0f + expf(-value));
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_SILU_CUH_
