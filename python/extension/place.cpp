#include "extension/place.h"

#include <cstdint>
#include <string>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

void* ReadStream(nb::handle stream) {
  nb::object address = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    address = nb::cast<nb::tuple>(stream.attr("__cuda_stream__")())[1];  // (version, address)
  } else if (nb::hasattr(stream, "cuda_stream")) {
    address = stream.attr("cuda_stream");
  } else if (nb::hasattr(stream, "ptr")) {
    address = stream.attr("ptr");
  }
  if (!nb::isinstance<nb::int_>(address)) {
    ThrowTypeError("stream is " + TypeText(stream) +
                   ", expected an integer, a stream of torch or CuPy, or an object with "
                   "__cuda_stream__");
  }
  return reinterpret_cast<void*>(nb::cast<uintptr_t>(address));
}

void* CurrentStream(const Place& place) {
  void* stream = nullptr;
  if (place.origin.framework == Framework::kExchange) {
    if (place.origin.exchange->current_stream(kCuda, place.device.device_id, &stream) != 0) {
      throw nb::python_error();
    }
  } else if (place.origin.framework == Framework::kCuPy) {
    const nb::object cuda = nb::module_::import_("cupy").attr("cuda");
    stream =
        reinterpret_cast<void*>(nb::cast<uintptr_t>(cuda.attr("get_current_stream")().attr("ptr")));
  }
  return stream;
}

uintptr_t AddressOf(void* stream) { return reinterpret_cast<uintptr_t>(stream); }

// Also while an exception passes, which is C++'s by now: Python's own is not set.
void Leave(const nb::object& guard) {
  if (!guard.is_valid()) return;
  PyObject* result = PyObject_CallMethod(guard.ptr(), "__exit__", "OOO", Py_None, Py_None, Py_None);
  if (result == nullptr) PyErr_WriteUnraisable(guard.ptr());
  Py_XDECREF(result);
}

}  // namespace

Place ReadPlace(const char* operation, nb::handle x, nb::handle stream) {
  Place place = {.origin = FindOrigin(x)};
  place.device = FindDevice(std::string(operation) + ": x", x, place.origin);
  void* current = place.device.is_cuda ? CurrentStream(place) : nullptr;
  place.stream = stream.is_valid() ? ReadStream(stream) : current;
  place.is_stream_foreign = place.device.is_cuda && place.stream != current;
  return place;
}

CurrentPlace::CurrentPlace(const Place& place) {
  if (!place.device.is_cuda) return;
  // Both are made before one is entered: what throws then leaves nothing to be left.
  if (place.origin.framework == Framework::kExchange) {
    const nb::object cuda = nb::module_::import_("torch").attr("cuda");
    const int32_t device = place.device.device_id;
    if (place.is_stream_foreign) {
      // torch takes an address of 0 for one that is not given.
      stream_guard_ = cuda.attr("stream")(
          place.stream == nullptr ? cuda.attr("default_stream")(device)
                                  : cuda.attr("ExternalStream")(AddressOf(place.stream), device));
    }
    if (nb::cast<int32_t>(cuda.attr("current_device")()) != device) {
      device_guard_ = cuda.attr("device")(device);
    }
  } else if (place.origin.framework == Framework::kCuPy && place.is_stream_foreign) {
    const nb::object cuda = nb::module_::import_("cupy").attr("cuda");
    stream_guard_ = cuda.attr("ExternalStream")(AddressOf(place.stream));
  }
  if (device_guard_.is_valid()) device_guard_.attr("__enter__")();
  if (stream_guard_.is_valid()) stream_guard_.attr("__enter__")();
}

CurrentPlace::~CurrentPlace() {
  Leave(stream_guard_);
  Leave(device_guard_);
}

void RefuseGradient(const char* operation, const char* name, nb::handle array) {
  const nb::object requires_grad = nb::getattr(array, "requires_grad", nb::none());
  if (!requires_grad.is(nb::handle(Py_True))) return;
  if (!nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")())) return;
  Throw(TILESCAN_UNSUPPORTED, std::string(operation) + ": " + name +
                                  " requires a gradient, and there is no backward yet: call it "
                                  "under torch.no_grad(), or pass " +
                                  name + ".detach()");
}

}  // namespace tilescan::python
