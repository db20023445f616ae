// DLPack's C exchange table (dlpack.h 1.3, DLPackExchangeAPI), by which a framework hands out its
// arrays, memory and current stream without a call into Python. torch has it from 2.10 on. The
// layout is DLPack's, and stable within a major version.
#ifndef TILESCAN_PYTHON_EXTENSION_DLPACK_EXCHANGE_H_
#define TILESCAN_PYTHON_EXTENSION_DLPACK_EXCHANGE_H_

#include <cstdint>

#include <nanobind/ndarray.h>

namespace tilescan::python {

using DlTensor = nanobind::dlpack::dltensor;

// DLDeviceType.
constexpr int32_t kCpu = 1;
constexpr int32_t kCuda = 2;
constexpr int32_t kCudaHost = 3;
constexpr int32_t kCudaManaged = 13;

struct DlManagedTensorVersioned;
using DlSetError = void (*)(void* error_context, const char* kind, const char* message);

constexpr uint32_t kExchangeMajorVersion = 1;
constexpr const char* kExchangeCapsuleName = "dlpack_exchange_api";

// Each function returns 0, or -1 with a Python exception set (the allocator: after SetError).
struct ExchangeTable {
  uint32_t major_version;
  uint32_t minor_version;
  ExchangeTable* previous;
  int (*allocate)(DlTensor* prototype, DlManagedTensorVersioned** out, void* error_context,
                  DlSetError set_error);
  int (*to_managed_tensor)(void* array, DlManagedTensorVersioned** out);
  int (*to_array)(DlManagedTensorVersioned* tensor, void** array);
  int (*to_tensor)(void* array, DlTensor* out);  // NULL: not offered. Valid as long as the array is
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_DLPACK_EXCHANGE_H_
