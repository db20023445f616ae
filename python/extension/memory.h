// Arrays and workspaces that a call makes.
#ifndef TILESCAN_PYTHON_EXTENSION_MEMORY_H_
#define TILESCAN_PYTHON_EXTENSION_MEMORY_H_

#include <cstddef>

#include <nanobind/nanobind.h>

#include "extension/operand.h"
#include "tilescan/tilescan.h"

namespace tilescan::python {

// Where a call's arrays come from and go: the framework of x, its device, the stream.
struct Place {
  ArrayOrigin origin;
  Device device;
  void* stream = nullptr;
  // The stream was asked for and is not the framework's current one.
  bool is_stream_foreign = false;
};

// "float32", ...: the name of a dtype, as the frameworks have it.
const char* DtypeName(tilescan_dtype dtype);

// A compact array of the framework of x, or of NumPy where that is unknown and memory is the CPU's.
// layout: its dtype and shape; data is set. Throws Unsupported where nobody can make one.
nanobind::object MakeArray(const Place& place, tilescan_tensor* layout);

// The array to return for one that MakeArray() made, after it was written.
nanobind::object FinishArray(const Place& place, const nanobind::object& array,
                             const tilescan_tensor& layout);

// Memory that a run needs. On the CPU that of the calling thread, which keeps its size until the
// thread ends; on a GPU the framework's, of its allocator for the current stream: to be made where
// that of the place is (CurrentPlace), so that it may be reused once the stream is past the run.
class Workspace {
 public:
  Workspace(const Place& place, size_t bytes);
  void* data() const { return data_; }

 private:
  nanobind::object array_;
  void* data_ = nullptr;
};

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_MEMORY_H_
