// Arrays of Python as operands of the C interface: views of their memory, never copies.
#ifndef TILESCAN_PYTHON_EXTENSION_OPERAND_H_
#define TILESCAN_PYTHON_EXTENSION_OPERAND_H_

#include <array>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "extension/dlpack_exchange.h"
#include "tilescan/tilescan.h"

namespace tilescan::python {

struct Device {
  bool is_cuda = false;
  int32_t device_id = 0;
  bool operator==(const Device&) const = default;
};
std::string DeviceText(const Device& device);

// Who made an array, as far as making another one like it needs to know.
enum class Framework { kNumPy, kExchange, kCuPy, kJax, kOther };

struct ArrayOrigin {
  Framework framework = Framework::kOther;
  const ExchangeTable* exchange = nullptr;  // of kExchange (torch)
};

enum class Access { kRead, kWrite };

// The exchange table of an object's type, or NULL. Types are asked once.
const ExchangeTable* FindExchange(nanobind::handle array);
ArrayOrigin FindOrigin(nanobind::handle array);
Device FindDevice(const std::string& where, nanobind::handle array, const ArrayOrigin& origin);

// The operands of one call. Keeps what their memory needs to stay alive until it is destroyed,
// which needs the GIL.
class OperandReader {
 public:
  // stream: the one that work will be enqueued on, for producers that order their own work before
  // it (__dlpack__(stream)); used for arrays on a GPU.
  OperandReader(const char* operation, const Device& device, void* stream)
      : operation_(operation), device_(device), stream_(stream) {}
  ~OperandReader();
  OperandReader(const OperandReader&) = delete;
  OperandReader& operator=(const OperandReader&) = delete;

  // A view of an array. Throws TypeError if it is none, InvalidArgument if it is on another device,
  // or read-only where it would be written.
  tilescan_tensor Read(const char* name, nanobind::handle array, Access access);

 private:
  tilescan_tensor ReadExchange(const char* name, const ExchangeTable& exchange,
                               nanobind::handle array);
  bool ReadBuffer(const char* name, nanobind::handle array, Access access, tilescan_tensor* tensor);
  tilescan_tensor ReadDlpack(const char* name, nanobind::handle array, Access access);
  void CheckDevice(const char* name, const Device& device) const;
  [[noreturn]] void ThrowReadOnly(const char* name) const;
  [[noreturn]] void ThrowNotRead(const char* name, nanobind::handle array) const;

  static constexpr size_t kMaxOperands = 16;
  const char* operation_;
  Device device_;
  void* stream_;
  std::array<Py_buffer, kMaxOperands> buffers_;
  size_t num_buffers_ = 0;
  std::vector<nanobind::ndarray<nanobind::ro>> imported_;
};

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_OPERAND_H_
