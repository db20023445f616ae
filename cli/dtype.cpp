#include "cli/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace tilescan::cli {
namespace {

std::span<const DTypeNames> AllDTypes() {
  static const std::array<DTypeNames, 8> kDTypes = {{
      {tilescan_float64(), "float64", "F64"},
      {tilescan_float32(), "float32", "F32"},
      {tilescan_bfloat16(), "bfloat16", "BF16"},
      {tilescan_float16(), "float16", "F16"},
      {tilescan_int64(), "int64", "I64"},
      {tilescan_int32(), "int32", "I32"},
      {tilescan_uint8(), "uint8", "U8"},
      {tilescan_bool(), "bool", "BOOL"},
  }};
  return kDTypes;
}

// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
double Float16Value(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 0x1f && fraction == 0) magnitude = std::numeric_limits<double>::infinity();
  if (exponent == 0x1f && fraction != 0) magnitude = std::numeric_limits<double>::quiet_NaN();
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

}  // namespace

const DTypeNames* FindDType(const tilescan_dtype& dtype) {
  for (const DTypeNames& names : AllDTypes()) {
    if (SameDType(names.dtype, dtype)) return &names;
  }
  return nullptr;
}

const DTypeNames* FindDTypeOfSafetensors(const std::string& name) {
  for (const DTypeNames& names : AllDTypes()) {
    if (names.safetensors == name) return &names;
  }
  return nullptr;
}

std::optional<tilescan_dtype> FloatDTypeOfName(const std::string& name) {
  if (name == "fp64" || name == "float64") return tilescan_float64();
  if (name == "fp32" || name == "float32") return tilescan_float32();
  if (name == "bf16" || name == "bfloat16") return tilescan_bfloat16();
  if (name == "fp16" || name == "float16") return tilescan_float16();
  return std::nullopt;
}

std::optional<int64_t> TensorBytes(const tilescan_tensor& tensor) {
  for (int dim = 0; dim < tensor.ndim; ++dim) {
    if (tensor.shape[dim] == 0) return 0;
  }
  int64_t bytes = ElementBytes(tensor.dtype);
  for (int dim = 0; dim < tensor.ndim; ++dim) {
    if (__builtin_mul_overflow(bytes, tensor.shape[dim], &bytes)) return std::nullopt;
  }
  return bytes;
}

double FloatAt(const tilescan_tensor& tensor, int64_t idx) {
  if (SameDType(tensor.dtype, tilescan_float64())) {
    return static_cast<const double*>(tensor.data)[idx];
  }
  if (SameDType(tensor.dtype, tilescan_float32())) {
    return static_cast<const float*>(tensor.data)[idx];
  }
  const uint16_t bits = static_cast<const uint16_t*>(tensor.data)[idx];
  if (SameDType(tensor.dtype, tilescan_float16())) return Float16Value(bits);
  // A bfloat16 is the upper half of a float32.
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

std::string ShapeText(const tilescan_tensor& tensor) {
  std::string text = "(";
  for (int dim = 0; dim < tensor.ndim; ++dim) {
    if (dim > 0) text += ", ";
    text += std::to_string(tensor.shape[dim]);
  }
  return text + ")";
}

}  // namespace tilescan::cli
