#include "extension/memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

// What JAX asks of memory that it takes over without a copy.
constexpr size_t kAlignment = 64;

struct ErrorText {
  std::string kind;
  std::string message;
};

void SetErrorText(void* context, const char* kind, const char* message) {
  *static_cast<ErrorText*>(context) = {kind, message};
}

nb::tuple ShapeOf(const tilescan_tensor& layout) {
  nb::list shape;
  for (int32_t dim = 0; dim < layout.ndim; ++dim) shape.append(layout.shape[dim]);
  return nb::tuple(shape);
}

nb::object MakeByExchange(const Place& place, const tilescan_tensor& layout, void** data) {
  const ExchangeTable& exchange = *place.origin.exchange;
  DlTensor prototype = {.data = nullptr,
                        .device = {place.device.is_cuda ? kCuda : kCpu, place.device.device_id},
                        .ndim = layout.ndim,
                        .dtype = {layout.dtype.code, layout.dtype.bits, layout.dtype.lanes},
                        .shape = const_cast<int64_t*>(layout.shape),
                        .strides = nullptr,
                        .byte_offset = 0};
  DlManagedTensorVersioned* managed = nullptr;
  ErrorText error;
  if (exchange.allocate(&prototype, &managed, &error, SetErrorText) != 0) {
    PyErr_Clear();
    Throw(TILESCAN_OUT_OF_MEMORY, error.kind + ": " + error.message);
  }
  void* object = nullptr;
  if (exchange.to_array(managed, &object) != 0) throw nb::python_error();
  nb::object array = nb::steal(static_cast<PyObject*>(object));
  DlTensor made;
  if (exchange.to_tensor(array.ptr(), &made) != 0) throw nb::python_error();
  *data = static_cast<char*>(made.data) + made.byte_offset;
  return array;
}

nb::object MakeByModule(const char* module, const tilescan_tensor& layout) {
  nb::object dtype = nb::str(DtypeName(layout.dtype));
  if (layout.dtype.code == TILESCAN_DTYPE_BFLOAT) {
    dtype = nb::module_::import_("ml_dtypes").attr("bfloat16");
  }
  return nb::module_::import_(module).attr("empty")(ShapeOf(layout), dtype);
}

size_t NumBytes(const tilescan_tensor& layout) {
  size_t bytes = layout.dtype.bits / 8;
  for (int32_t dim = 0; dim < layout.ndim; ++dim) bytes *= static_cast<size_t>(layout.shape[dim]);
  return bytes;
}

// JAX has no array that may be written: memory is made here, and handed to JAX after the run.
nb::object MakeForJax(const tilescan_tensor& layout, void** data) {
  const size_t bytes = NumBytes(layout) + kAlignment;
  nb::object memory = nb::module_::import_("numpy").attr("empty")(bytes, "uint8");
  auto address = nb::cast<uintptr_t>(memory.attr("ctypes").attr("data"));
  address = (address + kAlignment - 1) / kAlignment * kAlignment;
  *data = reinterpret_cast<void*>(address);
  return memory;
}

uintptr_t DataOf(Framework framework, const nb::object& array) {
  if (framework == Framework::kCuPy) return nb::cast<uintptr_t>(array.attr("data").attr("ptr"));
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_STRIDES) != 0) {
    PyErr_Clear();  // bf16, which the buffer protocol does not know
    const nb::object bytes = array.attr("view")("uint8");
    if (PyObject_GetBuffer(bytes.ptr(), &buffer, PyBUF_STRIDES) != 0) throw nb::python_error();
  }
  const auto address = reinterpret_cast<uintptr_t>(buffer.buf);
  PyBuffer_Release(&buffer);
  return address;
}

void* ThreadMemory(size_t bytes) {
  thread_local std::unique_ptr<std::byte[]> memory;
  thread_local size_t capacity = 0;
  if (bytes > capacity) {
    memory = nullptr;  // before the larger one is there too
    capacity = 0;
    memory.reset(new (std::nothrow) std::byte[bytes]);
    if (memory == nullptr) {
      Throw(TILESCAN_OUT_OF_MEMORY,
            "no memory for a workspace of " + std::to_string(bytes) + " bytes");
    }
    capacity = bytes;
  }
  return memory.get();
}

}  // namespace

const char* DtypeName(tilescan_dtype dtype) {
  if (dtype.code == TILESCAN_DTYPE_BFLOAT) return "bfloat16";
  if (dtype.code == TILESCAN_DTYPE_UINT) return "uint8";
  return dtype.bits == 16 ? "float16" : dtype.bits == 32 ? "float32" : "float64";
}

nb::object MakeArray(const Place& place, tilescan_tensor* layout) {
  const Framework framework = place.origin.framework;
  if (framework == Framework::kExchange) return MakeByExchange(place, *layout, &layout->data);
  if (place.device.is_cuda && framework != Framework::kCuPy) {
    Throw(TILESCAN_UNSUPPORTED,
          "an output or a workspace on a GPU is made by torch or CuPy, and x is of neither: pass "
          "their arrays");
  }
  if (framework == Framework::kJax) return MakeForJax(*layout, &layout->data);
  nb::object array = MakeByModule(framework == Framework::kCuPy ? "cupy" : "numpy", *layout);
  if (NumBytes(*layout) > 0) layout->data = reinterpret_cast<void*>(DataOf(framework, array));
  return array;
}

nb::object FinishArray(const Place& place, const nb::object& array, const tilescan_tensor& layout) {
  if (place.origin.framework != Framework::kJax) return array;
  size_t shape[TILESCAN_MAX_NDIM];
  for (int32_t dim = 0; dim < layout.ndim; ++dim) {
    shape[dim] = static_cast<size_t>(layout.shape[dim]);
  }
  nb::ndarray<nb::array_api> view(
      layout.data, static_cast<size_t>(layout.ndim), shape, array, nullptr,
      nb::dlpack::dtype{layout.dtype.code, layout.dtype.bits, layout.dtype.lanes});
  return nb::module_::import_("jax.dlpack").attr("from_dlpack")(view.cast());
}

Workspace::Workspace(const Place& place, size_t bytes) {
  if (bytes == 0) return;
  if (!place.device.is_cuda) {
    data_ = ThreadMemory(bytes);
    return;
  }
  const auto length = static_cast<int64_t>(bytes);
  tilescan_tensor layout = tilescan_contiguous(nullptr, tilescan_uint8(), 1, &length);
  array_ = MakeArray(place, &layout);
  data_ = layout.data;
}

}  // namespace tilescan::python
