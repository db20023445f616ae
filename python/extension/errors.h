// Statuses of the library, and faults found here, as exceptions of tilescan.errors.
#ifndef TILESCAN_PYTHON_EXTENSION_ERRORS_H_
#define TILESCAN_PYTHON_EXTENSION_ERRORS_H_

#include <string>

#include <nanobind/nanobind.h>

#include "tilescan/tilescan.h"

namespace tilescan::python {

// Throws the exception class of a status, with this message.
[[noreturn]] void Throw(tilescan_status status, const std::string& message);

// Throws for a status other than TILESCAN_OK, with the message given, which is the library's own.
inline void ThrowUnlessOk(tilescan_status status, const std::string& message) {
  if (status != TILESCAN_OK) Throw(status, message);
}

// TypeError: an argument that is no array, flag or name where one is expected.
[[noreturn]] void ThrowTypeError(const std::string& message);

// "numpy.ndarray": the type of an object, for messages.
std::string TypeText(nanobind::handle object);

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_ERRORS_H_
