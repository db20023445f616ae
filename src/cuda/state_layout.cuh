// How the threads of a block hold rows of a state in registers.
#ifndef TILESCAN_CUDA_STATE_LAYOUT_CUH_
#define TILESCAN_CUDA_STATE_LAYOUT_CUH_

#include <cstdint>

#include "core/tensor_view.h"
#include "cuda/vectors.cuh"
#include "cuda/warp.h"
#include "numerics/elements.h"

namespace tilescan::cuda {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;

// 16 bytes of a row, the row dense and aligned, the rows of a head less than 2^31 elements apart in
// all.
// kHasStoreHint: what is stored will not be read again soon. Loads have such a hint for 16-bit
// states. docs/performance.md has what each is worth.
template <typename T, bool kHasStoreHint = true>
struct Vectors {
  static constexpr int kSize = Bits16<T>::kSize;

  static __device__ int64_t RowOffset(int row, int64_t stride) {
    return int64_t{row} * static_cast<int>(stride);
  }
  static __device__ uint4 LoadBits(const TensorView& state, int64_t offset, int64_t n) {
    const auto* address = reinterpret_cast<const uint4*>(state.At<const T>(offset + n));
    return sizeof(T) == sizeof(float) ? *address : __ldcs(address);
  }
  static __device__ void StoreBits(uint4 bits, const TensorView& state, int64_t offset, int64_t n) {
    auto* address = reinterpret_cast<uint4*>(state.At<T>(offset + n));
    if constexpr (kHasStoreHint) {
      __stcs(address, bits);
    } else {
      *address = bits;
    }
  }
  static __device__ void ToFloats(const uint4& bits, float* to) { Bits16<T>::ToFloats(bits, to); }
  static __device__ uint4 FromFloats(const float* from) { return Bits16<T>::FromFloats(from); }

  static __device__ void Load(const TensorView& state, int64_t offset, int64_t n,
                              int64_t /*dstate*/, float* to) {
    ToFloats(LoadBits(state, offset, n), to);
  }
  static __device__ void Store(const float* from, const TensorView& state, int64_t offset,
                               int64_t n, int64_t /*dstate*/) {
    StoreBits(FromFloats(from), state, offset, n);
  }
};

// As many elements of a row of any dtype, stride and alignment: so that lanes hold the same
// elements as with Vectors, and sums have the same bits.
template <int kElements>
struct Elements {
  static constexpr int kSize = kElements;

  static __device__ int64_t RowOffset(int row, int64_t stride) { return row * stride; }
  static __device__ void Load(const TensorView& state, int64_t offset, int64_t n, int64_t dstate,
                              float* to) {
#pragma unroll
    for (int idx = 0; idx < kSize; ++idx) {
      if (n + idx >= dstate) continue;
      to[idx] = numerics::LoadFloat(state, offset + (n + idx) * state.strides[3]);
    }
  }
  static __device__ void Store(const float* from, const TensorView& state, int64_t offset,
                               int64_t n, int64_t dstate) {
#pragma unroll
    for (int idx = 0; idx < kSize; ++idx) {
      if (n + idx >= dstate) continue;
      numerics::StoreFloat(from[idx], state, offset + (n + idx) * state.strides[3]);
    }
  }
};

// kLanes lanes a row, kPasses pieces of it a lane. A lane holds kRows rows at once, and does so
// kGroups times, one after another.
template <typename PieceType, int kLanesOfRow, int kPassesOfRow, int kRowsOfLane,
          int kGroupsOfRows = 1>
struct Shape {
  using Piece = PieceType;
  static constexpr int kLanes = kLanesOfRow;
  static constexpr int kPasses = kPassesOfRow;
  static constexpr int kRows = kRowsOfLane;
  static constexpr int kGroups = kGroupsOfRows;
  static constexpr int kSize = Piece::kSize;
  static constexpr int kSegment = kLanes * kPasses * kSize;  // of dstate
  static constexpr int kRowsAside = kWarpLanes / kLanes;
  static constexpr int kGroupRows = kWarps * kRows * kRowsAside;  // of headdim
  static constexpr int kBlockRows = kGroupRows * kGroups;
  static_assert(kBlockRows <= kThreads);
};

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_LAYOUT_CUH_
