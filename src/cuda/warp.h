// A warp, as all GPUs have it.
#ifndef TILESCAN_CUDA_WARP_H_
#define TILESCAN_CUDA_WARP_H_

namespace tilescan::cuda {

inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_WARP_H_
