// Work of a GPU, recorded once and timed on the GPU's own clock. In a build without CUDA the
// constructor fails.
#ifndef TILESCAN_TESTING_DEVICE_REPLAY_H_
#define TILESCAN_TESTING_DEVICE_REPLAY_H_

#include <functional>
#include <memory>

#include "testing/device_memory.h"

namespace tilescan::testing {

class DeviceReplay {
 public:
  // Captures what enqueue(stream) enqueues on that stream as a CUDA graph; nothing of it runs yet.
  // Throws a DeviceError, as Run() and Time() do; what enqueue throws passes through.
  explicit DeviceReplay(const std::function<void(void* stream)>& enqueue);
  ~DeviceReplay();
  DeviceReplay(const DeviceReplay&) = delete;
  DeviceReplay& operator=(const DeviceReplay&) = delete;

  // Runs the work, and waits for it.
  void Run() const;

  // Seconds that the work takes, between two events: after a pause, so that an earlier load has
  // cooled down, and a first replay that is not timed, so that the clock is up and the GPU is not
  // waiting for the host.
  double Time() const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_DEVICE_REPLAY_H_
