// Single elements of operands whose dtype is known at run time only: read as bits first, so that
// many reads are on their way before the first is looked at. Not for float64.
#ifndef TILESCAN_CUDA_ELEMENTS_CUH_
#define TILESCAN_CUDA_ELEMENTS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "core/tensor_view.h"

namespace tilescan::cuda {

// No branch: one of two loads is predicated off.
inline __device__ uint32_t LoadElementBits(const TensorView& view, int64_t offset) {
  const bool is_float = view.dtype == DType::kFloat32;
  const char* address = static_cast<const char*>(view.data) + (offset << (is_float ? 2 : 1));
  return is_float ? *reinterpret_cast<const uint32_t*>(address)
                  : *reinterpret_cast<const uint16_t*>(address);
}

inline __device__ float ElementToFloat(DType dtype, uint32_t bits) {
  if (dtype == DType::kFloat32) return __uint_as_float(bits);
  if (dtype == DType::kBFloat16) return __uint_as_float(bits << 16);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

inline __device__ void StoreElement(float value, const TensorView& view, int64_t offset) {
  if (view.dtype == DType::kFloat32) {
    *view.At<float>(offset) = value;
  } else if (view.dtype == DType::kBFloat16) {
    *view.At<__nv_bfloat16>(offset) = __float2bfloat16_rn(value);
  } else {
    *view.At<__half>(offset) = __float2half_rn(value);
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_ELEMENTS_CUH_
