// What happens where x, scaled, is infinite or NaN, which is rare. The tensor cores multiply x of a
// token with the zeros of CB above the diagonal too, so that a NaN reaches the outs of tokens
// before it, and all outs of the chunk are NaN in that channel. There out is computed once more:
// from x without what is not finite, which then reaches the tokens from its own on. A warp's 16
// channels are computed by that warp alone, with mma.sync, whose fragments are those of wgmma.
#ifndef TILESCAN_HOPPER_SCAN_NONFINITE_CUH_
#define TILESCAN_HOPPER_SCAN_NONFINITE_CUH_

#include <cstdint>

#include "hopper/ptx/mma.h"
#include "hopper/scan_factors.cuh"
#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Whether any lane's sums of the first tokens, in either of its channels, are NaN.
__device__ __forceinline__ bool AnyNan(const float* sums) {
  return __any_sync(kAllLanes, sums[0] != sums[0] || sums[2] != sums[2]);
}

// Adds the product of A (16 channels, 16 kSteps) and 8 rows of tiles from first_row on, each row
// along the 16 kSteps. kIsRolled: a is in local memory then, so that no registers are kept for it.
template <bool kIsRolled, int kSteps>
__device__ __forceinline__ void AddProductOfWarp(const uint32_t (&a)[kSteps][4], const Tile* tiles,
                                                 int first_row, float (&sums)[4]) {
  constexpr int kTileSteps = kTileColumns / 16;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int row = first_row + lane / 4;
#pragma unroll(kIsRolled ? 1 : kSteps)
  for (int step = 0; step < kSteps; ++step) {
    const uint8_t* bytes = tiles[step / kTileSteps].bytes + row * kTileRowBytes + lane % 4 * 4;
    const int piece = step % kTileSteps * 2;
    const auto word = [&](int idx) {
      return *reinterpret_cast<const uint32_t*>(bytes + ((piece + idx) ^ row % 8) * 16);
    };
    ptx::MmaN8(sums, a[step], word(0), word(1));
  }
}

// The chunk's tokens at which x is not finite, in a thread's channels Row() and Row() + 8.
struct NonfiniteTokens {
  uint32_t halves[2][2];  // of each channel: a bit for each token

  // The first of them; behind the chunk if there is none.
  __device__ __forceinline__ int First(int channel) const {
    if (halves[channel][0] != 0) return __ffs(halves[channel][0]) - 1;
    return halves[channel][1] != 0 ? 32 + __ffs(halves[channel][1]) - 1 : kChunkSize;
  }
};

// finite: x with 0 for what is not. The tokens are added.
template <int kSteps>
__device__ __forceinline__ void TakeNonfinite(const uint32_t (&x)[kSteps][4],
                                              uint32_t (&finite)[kSteps][4],
                                              NonfiniteTokens& tokens) {
  constexpr uint32_t kExponent = 0x7f80u;
  const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) {
      finite[step][idx] = x[step][idx];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if ((x[step][idx] >> 16 * half & kExponent) != kExponent) continue;
        finite[step][idx] &= half == 0 ? 0xffff0000u : 0x0000ffffu;
        const int first = step % 2 * 16 + idx / 2 * 8 + half;  // of lane 0, in its half
        tokens.halves[idx % 2][step / 2] |= 1u << (first + column);
      }
    }
  }
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    uint32_t& bits = tokens.halves[word / 2][word % 2];
    bits |= __shfl_xor_sync(kAllLanes, bits, 1);
    bits |= __shfl_xor_sync(kAllLanes, bits, 2);
  }
}

// NaN in the sums of those of 8 tokens that see one that is not finite.
__device__ __forceinline__ void SpreadNan(const NonfiniteTokens& tokens, int first_token,
                                          float (&sums)[4]) {
  const int token = first_token + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int idx = 0; idx < 4; ++idx) {
    if (token + idx % 2 >= tokens.First(idx / 2)) sums[idx] = NAN;
  }
}

// Makes sums anew, 8 tokens after another, by redo(first_token, their sums). On the way they are in
// local memory, so that registers that are seldom needed are not kept for this.
template <int kSums, typename Redo>
__device__ __forceinline__ void RedoSums(float (&sums)[kSums], const Redo& redo) {
  float redone[kSums];
#pragma unroll 1
  for (int first = 0; first < kSums; first += 4) {
    float four[4] = {};
    redo(first * 2, four);
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) redone[first + idx] = four[idx];
  }
#pragma unroll
  for (int idx = 0; idx < kSums; ++idx) sums[idx] = redone[idx];
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_NONFINITE_CUH_
