// Where a call runs: device and stream, as the caller or the framework of its arrays says.
#ifndef TILESCAN_PYTHON_EXTENSION_PLACE_H_
#define TILESCAN_PYTHON_EXTENSION_PLACE_H_

#include <nanobind/nanobind.h>

#include "extension/memory.h"

namespace tilescan::python {

// The place of a call from its x and the argument stream (may be empty): an integer, an object with
// __cuda_stream__(), or one with the attribute cuda_stream (torch) or ptr (CuPy). Without it, on a
// GPU: the framework's current stream, or the default stream where the framework has none.
// operation: its name, for messages.
Place ReadPlace(const char* operation, nanobind::handle x, nanobind::handle stream);

// Makes the GPU of torch's arrays the current one for a scope, if it is not; other frameworks have
// it current by their own rules. And the place's stream that of the framework, whose allocator
// hands out memory in the order of its current stream.
class CurrentPlace {
 public:
  explicit CurrentPlace(const Place& place);
  ~CurrentPlace();
  CurrentPlace(const CurrentPlace&) = delete;
  CurrentPlace& operator=(const CurrentPlace&) = delete;

 private:
  nanobind::object device_guard_;
  nanobind::object stream_guard_;
};

// Throws Unsupported if a torch tensor needs a gradient and gradients are recorded.
void RefuseGradient(const char* operation, const char* name, nanobind::handle array);

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_PLACE_H_
