// A strided view of memory that the caller owns.
#ifndef TILESCAN_CORE_TENSOR_VIEW_H_
#define TILESCAN_CORE_TENSOR_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "tilescan/tilescan.h"

namespace tilescan {

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kNone;
  int ndim = 0;
  std::array<int64_t, TILESCAN_MAX_NDIM> shape{};
  std::array<int64_t, TILESCAN_MAX_NDIM> strides{};  // in elements

  bool present() const { return dtype != DType::kNone; }

  int64_t num_elements() const {
    int64_t count = 1;
    for (int dim = 0; dim < ndim; ++dim) count *= shape[dim];
    return count;
  }

  // The address of an element, by its offset in elements.
  template <typename T>
  T* At(int64_t offset) const {
    return static_cast<T*>(data) + offset;
  }
  // The same when the element type is known at run time only.
  std::byte* AtBytes(int64_t offset) const {
    return static_cast<std::byte*>(data) + offset * ElementBytes(dtype);
  }
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_TENSOR_VIEW_H_
