// Reading and writing single elements of float operands whose dtype is known at run time only.
#ifndef TILESCAN_NUMERICS_ELEMENTS_H_
#define TILESCAN_NUMERICS_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/tensor_view.h"
#include "numerics/bfloat16.h"
#include "numerics/float16.h"

namespace tilescan::numerics {

// The float dtypes; only these may be passed to the functions below.
constexpr bool IsFloat(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kFloat32 || dtype == DType::kBFloat16 ||
         dtype == DType::kFloat16;
}

// The element at an offset in elements, exactly. (0 for a dtype that is no float.)
TILESCAN_HOST_DEVICE inline double LoadDouble(const TensorView& view, int64_t offset) {
  switch (view.dtype) {
    case DType::kFloat64:
      return *view.At<const double>(offset);
    case DType::kFloat32:
      return *view.At<const float>(offset);
    case DType::kBFloat16:
      return ToFloat(*view.At<const BFloat16>(offset));
    case DType::kFloat16:
      return ToFloat(*view.At<const Float16>(offset));
    default:
      return 0.0;
  }
}

// As LoadDouble(), in float: exact except for float64 operands, which are rounded to nearest.
TILESCAN_HOST_DEVICE inline float LoadFloat(const TensorView& view, int64_t offset) {
  switch (view.dtype) {
    case DType::kFloat64:
      return static_cast<float>(*view.At<const double>(offset));
    case DType::kFloat32:
      return *view.At<const float>(offset);
    case DType::kBFloat16:
      return ToFloat(*view.At<const BFloat16>(offset));
    case DType::kFloat16:
      return ToFloat(*view.At<const Float16>(offset));
    default:
      return 0.0f;
  }
}

// Writes value rounded once, to nearest, ties to even. (Nothing for a dtype that is no float.)
TILESCAN_HOST_DEVICE inline void StoreDouble(double value, const TensorView& view, int64_t offset) {
  switch (view.dtype) {
    case DType::kFloat64:
      *view.At<double>(offset) = value;
      return;
    case DType::kFloat32:
      *view.At<float>(offset) = static_cast<float>(value);
      return;
    case DType::kBFloat16:
      *view.At<BFloat16>(offset) = ToBFloat16(value);
      return;
    case DType::kFloat16:
      *view.At<Float16>(offset) = ToFloat16(value);
      return;
    default:
      return;
  }
}

// As StoreDouble(), from float.
TILESCAN_HOST_DEVICE inline void StoreFloat(float value, const TensorView& view, int64_t offset) {
  switch (view.dtype) {
    case DType::kFloat64:
      *view.At<double>(offset) = value;
      return;
    case DType::kFloat32:
      *view.At<float>(offset) = value;
      return;
    case DType::kBFloat16:
      *view.At<BFloat16>(offset) = ToBFloat16(value);
      return;
    case DType::kFloat16:
      *view.At<Float16>(offset) = ToFloat16(value);
      return;
    default:
      return;
  }
}

// Copies an element: bit for bit, a signalling NaN too, between operands of one dtype, else its
// value rounded once.
TILESCAN_HOST_DEVICE inline void CopyElement(const TensorView& from, int64_t from_offset,
                                             const TensorView& to, int64_t to_offset) {
  if (from.dtype == to.dtype) {
    std::byte element[sizeof(double)];
    const auto num_bytes = static_cast<size_t>(ElementBytes(from.dtype));
    memcpy(element, from.AtBytes(from_offset), num_bytes);
    memcpy(to.AtBytes(to_offset), element, num_bytes);
  } else {
    StoreDouble(LoadDouble(from, from_offset), to, to_offset);
  }
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_ELEMENTS_H_
