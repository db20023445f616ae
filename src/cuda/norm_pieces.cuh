// What a thread of the gated RMSNorm holds: pieces of neighbouring channels of a group.
#ifndef TILESCAN_CUDA_NORM_PIECES_CUH_
#define TILESCAN_CUDA_NORM_PIECES_CUH_

#include <cstdint>

#include "core/rms_norm_gated.h"
#include "cuda/elements.cuh"
#include "cuda/vectors.cuh"

namespace tilescan::cuda {

// A vector of the dtype that x, z and out have, where groups are whole ones: all `count`
// elements are there.
template <typename T>
struct NormVector : VectorPiece<T> {
  using Piece = VectorPiece<T>;

  static __device__ uint4 Load(const TensorView& view, int64_t offset, int64_t /*count*/) {
    return Piece::Load(view, offset);
  }
  static __device__ void Store(const float (&from)[Piece::kSize], const TensorView& view,
                               int64_t offset, int64_t /*count*/) {
    Piece::Store(from, view, offset);
  }
};

// As many elements of any dtype and stride: so that threads hold the same channels as with vectors,
// and sums have the same bits. Zeros beyond count.
template <int kElements>
struct NormElements {
  struct Bits {
    uint32_t of[kElements];
  };
  static constexpr int kSize = kElements;

  static __device__ Bits Load(const TensorView& view, int64_t offset, int64_t count) {
    Bits bits;
    const int64_t stride = view.strides[view.ndim - 1];
#pragma unroll
    for (int at = 0; at < kSize; ++at) {
      bits.of[at] = at < count ? LoadElementBits(view, offset + at * stride) : 0;
    }
    return bits;
  }
  static __device__ void ToFloats(const TensorView& view, const Bits& bits, float (&to)[kSize]) {
#pragma unroll
    for (int at = 0; at < kSize; ++at) to[at] = ElementToFloat(view.dtype, bits.of[at]);
  }
  static __device__ void Store(const float (&from)[kSize], const TensorView& view, int64_t offset,
                               int64_t count) {
    const int64_t stride = view.strides[view.ndim - 1];
#pragma unroll
    for (int at = 0; at < kSize; ++at) {
      if (at < count) StoreElement(from[at], view, offset + at * stride);
    }
  }
};

// A piece of weight or bias, of a dtype of its own; `otherwise` where the operand is absent.
// has_vectors: channels of a piece are whole vectors of every dtype.
template <int kSize>
__device__ void LoadChannelPiece(const TensorView& view, int64_t channel, int64_t count,
                                 bool has_vectors, float otherwise, float (&to)[kSize]) {
  if (!view.present()) {
#pragma unroll
    for (int at = 0; at < kSize; ++at) to[at] = otherwise;
    return;
  }
  if (has_vectors && view.dtype == DType::kFloat32) {
#pragma unroll
    for (int at = 0; at < kSize; at += 4) {
      const float4 part = *reinterpret_cast<const float4*>(view.At<const float>(channel + at));
      to[at] = part.x;
      to[at + 1] = part.y;
      to[at + 2] = part.z;
      to[at + 3] = part.w;
    }
    return;
  }
  if constexpr (kSize == 8) {
    if (has_vectors && view.dtype == DType::kBFloat16) {
      Bits16<__nv_bfloat16>::ToFloats(
          *reinterpret_cast<const uint4*>(view.At<const __nv_bfloat16>(channel)), to);
      return;
    }
  }
  using Elements = NormElements<kSize>;
  Elements::ToFloats(view, Elements::Load(view, channel * view.strides[0], count), to);
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_NORM_PIECES_CUH_
