#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "testing/device_memory.h"

namespace tilescan::testing {
namespace {

void ThrowUnlessOk(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that nobody takes it for an error of a later call
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace

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

}  // namespace tilescan::testing
