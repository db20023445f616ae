// 16 bytes of elements of one dtype, as floats and back.
#ifndef TILESCAN_CUDA_VECTORS_CUH_
#define TILESCAN_CUDA_VECTORS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "core/tensor_view.h"

namespace tilescan::cuda {

// Two elements as floats and back, rounded to nearest.
inline __device__ float2 ToFloats(float2 pair) { return pair; }
inline __device__ float2 ToFloats(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
inline __device__ float2 ToFloats(__half2 pair) { return __half22float2(pair); }
inline __device__ void FromFloats(float2 floats, float2* pair) { *pair = floats; }
inline __device__ void FromFloats(float2 floats, __nv_bfloat162* pair) {
  *pair = __float22bfloat162_rn(floats);
}
inline __device__ void FromFloats(float2 floats, __half2* pair) {
  *pair = __float22half2_rn(floats);
}

template <typename T>
struct PairOf;
template <>
struct PairOf<float> {
  using Type = float2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};
template <>
struct PairOf<__half> {
  using Type = __half2;
};

template <typename T>
struct Bits16 {
  using Pair = typename PairOf<T>::Type;
  static constexpr int kSize = 16 / sizeof(T);

  static __device__ void ToFloats(const uint4& bits, float* to) {
    const auto* pairs = reinterpret_cast<const Pair*>(&bits);
#pragma unroll
    for (int idx = 0; idx < kSize / 2; ++idx) {
      const float2 floats = cuda::ToFloats(pairs[idx]);
      to[2 * idx] = floats.x;
      to[2 * idx + 1] = floats.y;
    }
  }
  static __device__ uint4 FromFloats(const float* from) {
    uint4 bits;
    auto* pairs = reinterpret_cast<Pair*>(&bits);
#pragma unroll
    for (int idx = 0; idx < kSize / 2; ++idx) {
      cuda::FromFloats(make_float2(from[2 * idx], from[2 * idx + 1]), &pairs[idx]);
    }
    return bits;
  }
};

// Whether elements `dim` of an operand lie side by side in whole vectors of 16 bytes, at aligned
// addresses, whatever the other indices.
inline bool HasVectors(const TensorView& view, int dim) {
  const int64_t size = static_cast<int64_t>(kVectorAlignment) / ElementBytes(view.dtype);
  if (!view.is_aligned || view.shape[dim] % size != 0) return false;
  for (int other = 0; other < view.ndim; ++other) {
    const int64_t stride = view.strides[other];
    if (other == dim ? stride != 1 : stride % size != 0) return false;
  }
  return true;
}

// What a thread holds of an operand whose elements of dtype T lie in whole vectors: one of these.
template <typename T>
struct VectorPiece {
  using Bits = uint4;
  static constexpr int kSize = Bits16<T>::kSize;

  static __device__ Bits Load(const TensorView& view, int64_t offset) {
    return *reinterpret_cast<const uint4*>(view.At<const T>(offset));
  }
  static __device__ void ToFloats(const TensorView&, const Bits& bits, float (&to)[kSize]) {
    Bits16<T>::ToFloats(bits, to);
  }
  static __device__ void Store(const float (&from)[kSize], const TensorView& view, int64_t offset) {
    *reinterpret_cast<uint4*>(view.At<T>(offset)) = Bits16<T>::FromFloats(from);
  }
};

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_VECTORS_CUH_
