// A GPU's memory and its clock, for calls of backends that compute there. In a build without CUDA
// every function fails.
#ifndef TILESCAN_TESTING_DEVICE_MEMORY_H_
#define TILESCAN_TESTING_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace tilescan::testing {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether operands of this backend are in a GPU's memory.
bool IsOnDevice(const char* backend);

struct FreeDeviceMemory {
  void operator()(std::byte* memory) const;
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;

// On a 256-byte boundary at least, every byte set to value. Throws a DeviceError, as all below.
DeviceMemory AllocateOnDevice(size_t bytes, std::byte value);
void CopyToDevice(std::byte* to, const void* from, size_t bytes);
void CopyFromDevice(void* to, const std::byte* from, size_t bytes);
// Enqueued on a stream. Both begin on a 16-byte boundary.
void EnqueueDeviceCopy(std::byte* to, const std::byte* from, size_t bytes, void* stream);
// Waits for all work; an error of that work is thrown here.
void SynchronizeDevice();
// The current GPU's address on the PCI bus, by which the driver's tools know it.
std::string DeviceBusId();

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_DEVICE_MEMORY_H_
