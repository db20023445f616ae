#include "testing/device_replay.h"

namespace tilescan::testing {

struct DeviceReplay::Graph {};

DeviceReplay::DeviceReplay(const std::function<void(void*)>&) {
  throw DeviceError("this build has no CUDA");
}
DeviceReplay::~DeviceReplay() = default;
void DeviceReplay::Run() const {}
double DeviceReplay::Time() const { return 0.0; }

}  // namespace tilescan::testing
