// A strided view of memory that the caller owns.
#ifndef TILESCAN_CORE_TENSOR_VIEW_H_
#define TILESCAN_CORE_TENSOR_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/host_device.h"
#include "tilescan/tilescan.h"

namespace tilescan {

// What kernels that load several elements at once ask of an address, in bytes.
inline constexpr uintptr_t kVectorAlignment = 16;

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kNone;
  bool is_aligned = true;  // data is a multiple of kVectorAlignment; when planning: it will be
  int ndim = 0;
  std::array<int64_t, TILESCAN_MAX_NDIM> shape{};
  std::array<int64_t, TILESCAN_MAX_NDIM> strides{};  // in elements

  TILESCAN_HOST_DEVICE bool present() const { return dtype != DType::kNone; }

  TILESCAN_HOST_DEVICE int64_t num_elements() const {
    int64_t count = 1;
    for (int dim = 0; dim < ndim; ++dim) count *= shape[dim];
    return count;
  }

  // The address of an element, by its offset in elements.
  template <typename T>
  TILESCAN_HOST_DEVICE T* At(int64_t offset) const {
    return static_cast<T*>(data) + offset;
  }
  // The same when the element type is known at run time only.
  TILESCAN_HOST_DEVICE std::byte* AtBytes(int64_t offset) const {
    return static_cast<std::byte*>(data) + offset * ElementBytes(dtype);
  }
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_TENSOR_VIEW_H_
