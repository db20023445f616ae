#include "extension/operand.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nanobind/stl/string.h>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

Device ReadDevice(const std::string& where, int32_t device_type, int32_t device_id) {
  if (device_type == kCpu || device_type == kCudaHost) return {};
  if (device_type == kCuda || device_type == kCudaManaged) {
    return {.is_cuda = true, .device_id = device_id};
  }
  Throw(TILESCAN_INVALID_ARGUMENT, where + " is on a device of DLPack type " +
                                       std::to_string(device_type) +
                                       ", expected the CPU or a CUDA GPU");
}

// A framework's own refusal: its first line, without the trace of calls that may follow.
[[noreturn]] void ThrowNotCarried(const std::string& where, nb::handle array) {
  nb::python_error error;
  std::string reason = nb::cast<std::string>(nb::str(error.value()));
  reason = reason.substr(0, reason.find('\n'));
  ThrowTypeError(where + " is " + TypeText(array) + ", which DLPack does not carry: " + reason);
}

// Ranks above the interface's are left to planning, which reports them.
void CopyLayout(const DlTensor& from, tilescan_tensor* to) {
  to->data = static_cast<char*>(from.data) + from.byte_offset;
  to->dtype = {from.dtype.code, from.dtype.bits, from.dtype.lanes};
  to->ndim = from.ndim;
  int64_t compact_stride = 1;
  for (int32_t dim = std::min(from.ndim, TILESCAN_MAX_NDIM) - 1; dim >= 0; --dim) {
    to->shape[dim] = from.shape[dim];
    to->strides[dim] = from.strides != nullptr ? from.strides[dim] : compact_stride;
    compact_stride *= from.shape[dim];
  }
}

// The dtype of a buffer's format (struct module, native or little-endian); bits 0 if it is none of
// the interface's.
tilescan_dtype BufferDtype(const char* format, Py_ssize_t item_bytes) {
  std::string_view code = format != nullptr ? format : "B";
  if (!code.empty() && std::string_view("@=<").find(code[0]) != std::string_view::npos) {
    code.remove_prefix(1);
  }
  if (code.size() != 1) return {};
  const int bits = static_cast<int>(item_bytes) * 8;
  const auto is_one_of = [&](std::string_view codes) {
    return codes.find(code[0]) != std::string_view::npos;
  };
  if (is_one_of("efd")) return tilescan_make_dtype(TILESCAN_DTYPE_FLOAT, bits);
  if (is_one_of("bhilqn")) return tilescan_make_dtype(TILESCAN_DTYPE_INT, bits);
  if (is_one_of("BHILQN")) return tilescan_make_dtype(TILESCAN_DTYPE_UINT, bits);
  if (is_one_of("?")) return tilescan_make_dtype(TILESCAN_DTYPE_BOOL, 8);
  return {};
}

// NumPy has no bf16 of its own: ml_dtypes.bfloat16 is a dtype of that name, and neither the buffer
// protocol nor NumPy's DLPack carries it.
bool IsNumPyBfloat16(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  const nb::object name = nb::getattr(dtype, "name", nb::none());
  return nb::isinstance<nb::str>(name) && nb::cast<std::string>(name) == "bfloat16" &&
         TypeText(array) == "numpy.ndarray";
}

// torch's views like a conjugate's imaginary part, of which neither DLPack nor the exchange table
// tells.
bool IsNegated(nb::handle array) {
  static auto* const method = new nb::str("is_neg");
  PyObject* const result = PyObject_CallMethodNoArgs(array.ptr(), method->ptr());
  if (result == nullptr) PyErr_Clear();  // not a tensor of torch
  const bool is_negated = result == Py_True;
  Py_XDECREF(result);
  return is_negated;
}

}  // namespace

std::string DeviceText(const Device& device) {
  return device.is_cuda ? "cuda:" + std::to_string(device.device_id) : "cpu";
}

const ExchangeTable* FindExchange(nb::handle array) {
  // Types live as long as their module; one that is gone may give its address to another, so each
  // entry holds its type.
  static auto* tables = new std::unordered_map<PyObject*, const ExchangeTable*>();
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
  const auto found = tables->find(type);
  if (found != tables->end()) return found->second;
  const ExchangeTable* table = nullptr;
  const nb::object capsule = nb::getattr(nb::handle(type), "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), kExchangeCapsuleName)) {
    table = static_cast<const ExchangeTable*>(
        PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsuleName));
    while (table != nullptr && table->major_version != kExchangeMajorVersion) {
      table = table->previous;
    }
    if (table != nullptr && table->to_tensor == nullptr) table = nullptr;
  }
  Py_INCREF(type);
  tables->emplace(type, table);
  return table;
}

ArrayOrigin FindOrigin(nb::handle array) {
  const ExchangeTable* exchange = FindExchange(array);
  if (exchange != nullptr) return {Framework::kExchange, exchange};
  if (std::strcmp(Py_TYPE(array.ptr())->tp_name, "numpy.ndarray") == 0) {
    return {Framework::kNumPy, nullptr};
  }
  const std::string type = TypeText(array);
  if (type.starts_with("cupy.")) return {Framework::kCuPy, nullptr};
  if (type.starts_with("jaxlib.") || type.starts_with("jax.")) return {Framework::kJax, nullptr};
  return {};
}

Device FindDevice(const std::string& where, nb::handle array, const ArrayOrigin& origin) {
  if (origin.framework == Framework::kNumPy) return {};
  if (origin.exchange != nullptr) {
    DlTensor tensor;
    if (origin.exchange->to_tensor(array.ptr(), &tensor) != 0) ThrowNotCarried(where, array);
    return ReadDevice(where, tensor.device.device_type, tensor.device.device_id);
  }
  if (!nb::hasattr(array, "__dlpack_device__")) return {};
  const auto device = nb::cast<nb::tuple>(array.attr("__dlpack_device__")());
  return ReadDevice(where, nb::cast<int32_t>(nb::int_(device[0])), nb::cast<int32_t>(device[1]));
}

OperandReader::~OperandReader() {
  for (size_t idx = 0; idx < num_buffers_; ++idx) PyBuffer_Release(&buffers_[idx]);
}

tilescan_tensor OperandReader::Read(const char* name, nb::handle array, Access access) {
  const ExchangeTable* exchange = FindExchange(array);
  if (exchange != nullptr) return ReadExchange(name, *exchange, array);
  tilescan_tensor tensor = {};
  if (PyObject_CheckBuffer(array.ptr()) && ReadBuffer(name, array, access, &tensor)) return tensor;
  return ReadDlpack(name, array, access);
}

tilescan_tensor OperandReader::ReadExchange(const char* name, const ExchangeTable& exchange,
                                            nb::handle array) {
  if (IsNegated(array)) {
    Throw(TILESCAN_INVALID_ARGUMENT,
          std::string(operation_) + ": " + name +
              " is a view whose values stand negated in memory, expected others: pass " + name +
              ".resolve_neg()");
  }
  DlTensor from;
  if (exchange.to_tensor(array.ptr(), &from) != 0) {
    ThrowNotCarried(std::string(operation_) + ": " + name, array);
  }
  CheckDevice(name, ReadDevice(std::string(operation_) + ": " + name, from.device.device_type,
                               from.device.device_id));
  tilescan_tensor tensor = {};
  CopyLayout(from, &tensor);
  return tensor;
}

bool OperandReader::ReadBuffer(const char* name, nb::handle array, Access access,
                               tilescan_tensor* tensor) {
  Py_buffer* buffer = &buffers_[num_buffers_];
  constexpr int kWanted = PyBUF_STRIDES | PyBUF_FORMAT;
  bool is_bfloat16 = false;
  if (PyObject_GetBuffer(array.ptr(), buffer, kWanted) != 0) {
    PyErr_Clear();
    is_bfloat16 = IsNumPyBfloat16(array);
    if (!is_bfloat16) return false;  // what this protocol does not carry: DLPack decides
    const nb::object bits = array.attr("view")("uint16");
    if (PyObject_GetBuffer(bits.ptr(), buffer, kWanted) != 0) throw nb::python_error();
  }
  ++num_buffers_;
  if (access == Access::kWrite && buffer->readonly != 0) ThrowReadOnly(name);
  tensor->dtype = is_bfloat16 ? tilescan_bfloat16() : BufferDtype(buffer->format, buffer->itemsize);
  if (tensor->dtype.bits == 0) {
    ThrowTypeError(std::string(operation_) + ": " + name + " has elements of format \"" +
                   (buffer->format != nullptr ? buffer->format : "B") +
                   "\", expected numbers that DLPack knows");
  }
  CheckDevice(name, Device{});
  tensor->data = buffer->buf;
  tensor->ndim = buffer->ndim;
  for (int dim = 0; dim < std::min(buffer->ndim, TILESCAN_MAX_NDIM); ++dim) {
    tensor->shape[dim] = buffer->shape[dim];
    if (buffer->strides[dim] % buffer->itemsize != 0) {
      Throw(TILESCAN_INVALID_ARGUMENT, std::string(operation_) + ": " + name +
                                           " has strides that are no multiple of its element");
    }
    tensor->strides[dim] = buffer->strides[dim] / buffer->itemsize;
  }
  return true;
}

tilescan_tensor OperandReader::ReadDlpack(const char* name, nb::handle array, Access access) {
  if (!nb::hasattr(array, "__dlpack__")) {
    ThrowTypeError(std::string(operation_) + ": " + name + " is " + TypeText(array) +
                   ", expected an array (DLPack or the buffer protocol)");
  }
  nb::object exporter = nb::borrow(array);
  if (device_.is_cuda) {
    // DLPack's numbering: 1 is the legacy default stream.
    const auto stream = reinterpret_cast<uintptr_t>(stream_);
    exporter = array.attr("__dlpack__")(nb::arg("stream") = stream == 0 ? uintptr_t{1} : stream);
  }
  nb::ndarray<nb::ro> view;
  if (access == Access::kWrite) {
    nb::ndarray<> writable;
    // Without the right to write it may be carried all the same; if not, it is not for that.
    if (!nb::try_cast(exporter, writable)) {
      if (nb::try_cast(exporter, view)) ThrowReadOnly(name);
      ThrowNotRead(name, array);
    }
    view = nb::ndarray<nb::ro>(writable);
  } else if (!nb::try_cast(exporter, view)) {
    ThrowNotRead(name, array);
  }
  CheckDevice(name, ReadDevice(std::string(operation_) + ": " + name, view.device_type(),
                               view.device_id()));
  const DlTensor from = {.data = view.data_handle(),
                         .device = {},
                         .ndim = static_cast<int32_t>(view.ndim()),
                         .dtype = view.dtype(),
                         .shape = const_cast<int64_t*>(view.shape_ptr()),
                         .strides = const_cast<int64_t*>(view.stride_ptr()),
                         .byte_offset = view.byte_offset()};
  tilescan_tensor tensor = {};
  CopyLayout(from, &tensor);
  imported_.push_back(std::move(view));
  return tensor;
}

void OperandReader::CheckDevice(const char* name, const Device& device) const {
  if (device == device_) return;
  Throw(TILESCAN_INVALID_ARGUMENT, std::string(operation_) + ": " + name + " is on " +
                                       DeviceText(device) + ", expected " + DeviceText(device_) +
                                       " because x is");
}

void OperandReader::ThrowNotRead(const char* name, nb::handle array) const {
  ThrowTypeError(std::string(operation_) + ": " + name + " is " + TypeText(array) +
                 ", which could not be read through DLPack");
}

void OperandReader::ThrowReadOnly(const char* name) const {
  Throw(TILESCAN_INVALID_ARGUMENT, std::string(operation_) + ": " + name +
                                       " is read-only, expected an array that can be written");
}

}  // namespace tilescan::python
