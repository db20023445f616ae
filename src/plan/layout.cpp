#include "plan/layout.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tilescan::plan {
namespace {

struct Dimension {
  int64_t size = 1;
  int64_t step = std::numeric_limits<int64_t>::max();  // the stride without its sign
};

// The dimensions in which the view moves, the smallest step first.
struct Dimensions {
  std::array<Dimension, TILESCAN_MAX_NDIM> list;
  int count = 0;
};

Dimensions SortedDimensions(const TensorView& view) {
  Dimensions dimensions;
  for (int dim = 0; dim < view.ndim; ++dim) {
    if (view.shape[dim] <= 1) continue;
    dimensions.list[dimensions.count++] = {view.shape[dim], std::abs(view.strides[dim])};
  }
  // What is not used has the largest step, and stays behind.
  std::sort(dimensions.list.begin(), dimensions.list.end(),
            [](const Dimension& left, const Dimension& right) { return left.step < right.step; });
  return dimensions;
}

// Every address between the first and the last element is an element.
bool IsDense(const TensorView& view) {
  const Dimensions dimensions = SortedDimensions(view);
  int64_t expected_step = 1;
  for (int idx = 0; idx < dimensions.count; ++idx) {
    const Dimension& dimension = dimensions.list[idx];
    if (dimension.step == 0) continue;
    if (dimension.step != expected_step) return false;
    expected_step *= dimension.size;
  }
  return true;
}

struct ByteRange {
  uintptr_t begin;
  uintptr_t end;
};

ByteRange BytesOf(const TensorView& view) {
  const int64_t element_bytes = ElementBytes(view.dtype);
  const uintptr_t data = reinterpret_cast<uintptr_t>(view.data);
  ByteRange range = {data, data + static_cast<uintptr_t>(element_bytes)};
  for (int dim = 0; dim < view.ndim; ++dim) {
    const int64_t reach = (view.shape[dim] - 1) * view.strides[dim] * element_bytes;
    if (reach < 0) {
      range.begin -= static_cast<uintptr_t>(-reach);
    } else {
      range.end += static_cast<uintptr_t>(reach);
    }
  }
  return range;
}

}  // namespace

bool MayOverlapItself(const TensorView& view) {
  if (view.num_elements() <= 1) return false;
  const Dimensions dimensions = SortedDimensions(view);
  int64_t reach = 0;  // of the dimensions so far
  for (int idx = 0; idx < dimensions.count; ++idx) {
    const Dimension& dimension = dimensions.list[idx];
    if (dimension.step <= reach) return true;
    reach += (dimension.size - 1) * dimension.step;
  }
  return false;
}

bool CertainlyOverlap(const TensorView& first, const TensorView& second) {
  if (first.num_elements() == 0 || second.num_elements() == 0) return false;
  if (first.data == second.data) return true;
  const ByteRange first_bytes = BytesOf(first);
  const ByteRange second_bytes = BytesOf(second);
  const bool apart = first_bytes.end <= second_bytes.begin || second_bytes.end <= first_bytes.begin;
  return !apart && IsDense(first) && IsDense(second);
}

bool SameLayout(const TensorView& first, const TensorView& second) {
  if (first.dtype != second.dtype || first.ndim != second.ndim) return false;
  for (int dim = 0; dim < first.ndim; ++dim) {
    if (first.shape[dim] != second.shape[dim]) return false;
    if (first.shape[dim] > 1 && first.strides[dim] != second.strides[dim]) return false;
  }
  return true;
}

}  // namespace tilescan::plan
