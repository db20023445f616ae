// States of the parts that a row is cut in, each from zero, to the states behind them:
//
//   H = decay over the part * H + state of the part,   part after part
#ifndef TILESCAN_CUDA_JOIN_PARTS_CUH_
#define TILESCAN_CUDA_JOIN_PARTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace tilescan::cuda {

// The decay, as its root, is multiplied with twice. What is 0 stays 0 where the decay overflows: a
// state that grows from nothing.
__device__ __forceinline__ float JoinPart(float before, float root, float part) {
  return before == 0.0f ? part : fmaf(before * root, root, part);
}

// For 4 neighbours of a state. parts: part k's are at parts[k stride]; root(k): of the decay over
// part k; store(k, H) gets what is behind it. Some parts are read at once: bound by latency.
template <typename Root, typename Store>
__device__ __forceinline__ void JoinParts(const float4* parts, int64_t stride, int32_t num_parts,
                                          float4 state, const Root& root, const Store& store) {
  constexpr int kAtOnce = 8;
  for (int32_t first = 0; first < num_parts; first += kAtOnce) {
    float4 part[kAtOnce];
    float part_root[kAtOnce];
#pragma unroll
    for (int idx = 0; idx < kAtOnce; ++idx) {
      const int32_t part_idx = min(first + idx, num_parts - 1);
      part[idx] = __ldcg(parts + part_idx * stride);
      part_root[idx] = root(part_idx);
    }
#pragma unroll
    for (int idx = 0; idx < kAtOnce; ++idx) {
      if (first + idx >= num_parts) break;
      state = make_float4(JoinPart(state.x, part_root[idx], part[idx].x),
                          JoinPart(state.y, part_root[idx], part[idx].y),
                          JoinPart(state.z, part_root[idx], part[idx].z),
                          JoinPart(state.w, part_root[idx], part[idx].w));
      store(first + idx, state);
    }
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_JOIN_PARTS_CUH_
