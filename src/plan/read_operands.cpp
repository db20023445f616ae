#include "plan/read_operands.h"

#include <span>
#include <string>

#include "plan/text.h"

namespace tilescan::plan {
namespace {

// Half of what int64 holds: a loop may form the offset one step past the last element.
constexpr int64_t kMaxReachBytes = int64_t{1} << 62;

struct DTypeCode {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr DTypeCode kDTypeCodes[] = {
    {DType::kFloat64, TILESCAN_DTYPE_FLOAT, 64},   {DType::kFloat32, TILESCAN_DTYPE_FLOAT, 32},
    {DType::kBFloat16, TILESCAN_DTYPE_BFLOAT, 16}, {DType::kFloat16, TILESCAN_DTYPE_FLOAT, 16},
    {DType::kInt64, TILESCAN_DTYPE_INT, 64},       {DType::kInt32, TILESCAN_DTYPE_INT, 32},
    {DType::kUInt8, TILESCAN_DTYPE_UINT, 8},       {DType::kBool, TILESCAN_DTYPE_BOOL, 8},
};

// kNone if there is no such dtype here.
DType FromCode(const tilescan_dtype& dtype) {
  for (const DTypeCode& known : kDTypeCodes) {
    if (dtype.code == known.code && dtype.bits == known.bits && dtype.lanes == 1) {
      return known.dtype;
    }
  }
  return DType::kNone;
}

bool IsAbsent(const tilescan_tensor& tensor) {
  return tensor.dtype.bits == 0 && tensor.data == nullptr && tensor.ndim == 0;
}

std::string DTypeText(const tilescan_dtype& dtype) {
  const DType known = FromCode(dtype);
  if (known != DType::kNone) return DTypeName(known);
  return Text("dtype code ", int{dtype.code}, " with ", int{dtype.bits}, " bits and ", dtype.lanes,
              " lanes");
}

TensorView Unreadable() {
  TensorView view;
  view.dtype = DType::kUInt8;  // anything but absent
  view.ndim = kUnreadable;
  return view;
}

bool HasNegativeSize(std::span<const int64_t> shape) {
  for (const int64_t size : shape) {
    if (size < 0) return true;
  }
  return false;
}

// Counts a size of 0 as 1, so that a product of some of the sizes cannot overflow either.
bool HasTooManyElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size == 0) continue;
    if (__builtin_mul_overflow(count, size, &count) || count > kMaxElements) return true;
  }
  return false;
}

bool ReachesTooFar(const TensorView& view) {
  int64_t total = 0;
  for (int dim = 0; dim < view.ndim; ++dim) {
    if (view.shape[dim] <= 1) continue;
    int64_t reach = 0;
    if (__builtin_mul_overflow(view.shape[dim] - 1, view.strides[dim], &reach) ||
        __builtin_mul_overflow(reach, ElementBytes(view.dtype), &reach) ||
        reach < -kMaxReachBytes || reach > kMaxReachBytes) {
      return true;
    }
    total += reach < 0 ? -reach : reach;  // both within 2^62
    if (total > kMaxReachBytes) return true;
  }
  return false;
}

}  // namespace

TensorView ReadTensor(const char* name, const tilescan_tensor& tensor, Violations* violations) {
  if (IsAbsent(tensor)) return TensorView();
  TensorView view;
  view.data = tensor.data;
  view.is_aligned = reinterpret_cast<uintptr_t>(tensor.data) % kVectorAlignment == 0;
  view.dtype = FromCode(tensor.dtype);
  if (view.dtype == DType::kNone) {
    violations->Add(Text(name, " has ", DTypeText(tensor.dtype),
                         ", expected a dtype of tilescan.h, or all of the tensor zero if absent"));
    return Unreadable();
  }
  if (tensor.ndim < 0 || tensor.ndim > TILESCAN_MAX_NDIM) {
    violations->Add(Text(name, " has ndim ", tensor.ndim, ", expected 0 to ", TILESCAN_MAX_NDIM));
    return Unreadable();
  }
  view.ndim = tensor.ndim;
  for (int dim = 0; dim < view.ndim; ++dim) {
    view.shape[dim] = tensor.shape[dim];
    view.strides[dim] = tensor.shape[dim] > 1 ? tensor.strides[dim] : 0;
  }
  const std::span<const int64_t> shape(view.shape.data(), static_cast<size_t>(view.ndim));
  if (HasNegativeSize(shape)) {
    violations->Add(Text(name, " has shape ", ShapeText(view), ", expected no negative size"));
    return Unreadable();
  }
  if (HasTooManyElements(shape)) {
    violations->Add(Text(name, " has shape ", ShapeText(view), ", expected at most 2^46 elements"));
    return Unreadable();
  }
  if (ReachesTooFar(view)) {
    violations->Add(Text(name, " has shape ", ShapeText(view), " and strides ", StridesText(view),
                         ", expected offsets below 2^62 bytes"));
    return Unreadable();
  }
  return view;
}

bool IsDescribedAs(const tilescan_tensor& tensor, const TensorView& view) {
  if (!view.present()) return IsAbsent(tensor);
  if (FromCode(tensor.dtype) != view.dtype || tensor.ndim != view.ndim) return false;
  for (int dim = 0; dim < view.ndim; ++dim) {
    if (tensor.shape[dim] != view.shape[dim]) return false;
    if (tensor.shape[dim] > 1 && tensor.strides[dim] != view.strides[dim]) return false;
  }
  return true;
}

std::string DescriptionText(const tilescan_tensor& tensor) {
  if (IsAbsent(tensor)) return "absent";
  if (tensor.ndim < 0 || tensor.ndim > TILESCAN_MAX_NDIM) {
    return Text(DTypeText(tensor.dtype), " with ndim ", tensor.ndim);
  }
  const size_t ndim = static_cast<size_t>(tensor.ndim);
  return Text(DTypeText(tensor.dtype), " ", TupleText({tensor.shape, ndim}), " with strides ",
              TupleText({tensor.strides, ndim}));
}

std::string DescriptionText(const TensorView& view) {
  if (!view.present()) return "absent";
  return Text(DTypeName(view.dtype), " ", ShapeText(view), " with strides ", StridesText(view));
}

}  // namespace tilescan::plan
