// Element types by name, and tensors by size.
#ifndef TILESCAN_CLI_DTYPE_H_
#define TILESCAN_CLI_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tilescan/tilescan.h"

namespace tilescan::cli {

struct DTypeNames {
  tilescan_dtype dtype;
  const char* name;         // as tilescan says it: "float32"
  const char* safetensors;  // as the file format says it: "F32"
};

// Null if there is none.
const DTypeNames* FindDType(const tilescan_dtype& dtype);
const DTypeNames* FindDTypeOfSafetensors(const std::string& name);

// The float type of a name as the command line takes it ("float32", "fp32", ...); empty if none.
std::optional<tilescan_dtype> FloatDTypeOfName(const std::string& name);

inline int64_t ElementBytes(const tilescan_dtype& dtype) { return dtype.bits / 8; }
inline bool IsPresent(const tilescan_tensor& tensor) { return tensor.dtype.bits != 0; }
inline bool SameDType(const tilescan_dtype& left, const tilescan_dtype& right) {
  return left.code == right.code && left.bits == right.bits && left.lanes == right.lanes;
}

// Bytes of a compact tensor of this shape; empty if they do not fit an int64_t. Dimensions must not
// be negative.
std::optional<int64_t> TensorBytes(const tilescan_tensor& tensor);

// Element idx of a compact tensor of floats, exactly.
double FloatAt(const tilescan_tensor& tensor, int64_t idx);

// "(2, 512, 24, 64)"
std::string ShapeText(const tilescan_tensor& tensor);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_DTYPE_H_
