// The element types of operands.
#ifndef TILESCAN_CORE_DTYPE_H_
#define TILESCAN_CORE_DTYPE_H_

#include <cstdint>

namespace tilescan {

enum class DType : uint8_t {
  kNone,  // the operand is absent
  kFloat64,
  kFloat32,
  kBFloat16,
  kFloat16,
  kInt64,
  kInt32,
  kUInt8,
  kBool,
};

constexpr int64_t ElementBytes(DType dtype) {
  switch (dtype) {
    case DType::kNone:
      return 0;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
      return 2;
    case DType::kUInt8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

constexpr const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kNone:
      return "none";
    case DType::kFloat64:
      return "float64";
    case DType::kFloat32:
      return "float32";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat16:
      return "float16";
    case DType::kInt64:
      return "int64";
    case DType::kInt32:
      return "int32";
    case DType::kUInt8:
      return "uint8";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

}  // namespace tilescan

#endif  // TILESCAN_CORE_DTYPE_H_
