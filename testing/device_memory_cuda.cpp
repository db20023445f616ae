#include <cuda_runtime_api.h>

#include <array>
#include <cstring>
#include <string>

#include "testing/device_error.h"
#include "testing/device_memory.h"

namespace tilescan::testing {

bool IsOnDevice(const char* backend) {
  return backend != nullptr && std::strcmp(backend, "cuda") == 0;
}

void FreeDeviceMemory::operator()(std::byte* memory) const { cudaFree(memory); }

DeviceMemory AllocateOnDevice(size_t bytes, std::byte value) {
  void* memory = nullptr;
  ThrowUnlessOk(cudaMalloc(&memory, bytes), "allocating GPU memory");
  DeviceMemory owned(static_cast<std::byte*>(memory));
  ThrowUnlessOk(cudaMemset(memory, std::to_integer<int>(value), bytes), "filling GPU memory");
  return owned;
}

void CopyToDevice(std::byte* to, const void* from, size_t bytes) {
  ThrowUnlessOk(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
}

void CopyFromDevice(void* to, const std::byte* from, size_t bytes) {
  ThrowUnlessOk(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying from the GPU");
}

void SynchronizeDevice() { ThrowUnlessOk(cudaDeviceSynchronize(), "waiting for the GPU"); }

std::string DeviceBusId() {
  int device = 0;
  std::array<char, 32> text = {};
  ThrowUnlessOk(cudaGetDevice(&device), "the current GPU");
  ThrowUnlessOk(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device),
                "the GPU's address");
  return text.data();
}

}  // namespace tilescan::testing
