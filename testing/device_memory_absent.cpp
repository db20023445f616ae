#include "testing/device_memory.h"

namespace tilescan::testing {
namespace {

[[noreturn]] void Fail() { throw DeviceError("this build has no CUDA"); }

}  // namespace

bool IsOnDevice(const char*) { return false; }
void FreeDeviceMemory::operator()(std::byte*) const {}
DeviceMemory AllocateOnDevice(size_t, std::byte) { Fail(); }
void CopyToDevice(std::byte*, const void*, size_t) { Fail(); }
void CopyFromDevice(void*, const std::byte*, size_t) { Fail(); }
void EnqueueDeviceCopy(std::byte*, const std::byte*, size_t, void*) { Fail(); }
void SynchronizeDevice() { Fail(); }
std::string DeviceBusId() { Fail(); }

}  // namespace tilescan::testing
