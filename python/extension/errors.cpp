#include "extension/errors.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace tilescan::python {
namespace {

const char* ClassName(tilescan_status status) {
  switch (status) {
    case TILESCAN_INVALID_ARGUMENT:
      return "InvalidArgument";
    case TILESCAN_UNSUPPORTED:
      return "Unsupported";
    case TILESCAN_OUT_OF_MEMORY:
      return "OutOfMemory";
    default:
      return "InternalError";
  }
}

}  // namespace

void Throw(tilescan_status status, const std::string& message) {
  const nb::object type = nb::module_::import_("tilescan.errors").attr(ClassName(status));
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

void ThrowTypeError(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw nb::python_error();
}

std::string TypeText(nb::handle object) {
  const nb::handle type = object.type();
  const std::string name = nb::cast<std::string>(nb::str(nb::getattr(type, "__qualname__")));
  const std::string module = nb::cast<std::string>(nb::str(nb::getattr(type, "__module__")));
  return module == "builtins" ? name : module + "." + name;
}

}  // namespace tilescan::python
