// What the GPU is and has.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

constexpr int32_t kLeastComputeCapability = 80;

CudaFacts Without(std::string reason) {
  CudaFacts facts;
  facts.reason_against = std::move(reason);
  return facts;
}

CudaFacts Probe(int device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) {
    return Without(std::string("the GPU cannot be asked: ") + cudaGetErrorString(error));
  }
  CudaFacts facts;
  facts.name = properties.name;
  facts.compute_capability = 10 * properties.major + properties.minor;
  facts.num_multiprocessors = properties.multiProcessorCount;
  facts.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  facts.l2_cache_bytes = properties.l2CacheSize;
  cudaDriverGetVersion(&facts.driver_version);
  cudaRuntimeGetVersion(&facts.runtime_version);
  if (facts.compute_capability < kLeastComputeCapability) {
    facts.reason_against = facts.name + " has compute capability " +
                           std::to_string(properties.major) + "." +
                           std::to_string(properties.minor) + ", expected 8.0 or more";
  }
  return facts;
}

}  // namespace

const CudaFacts& Facts() {
  static std::mutex mutex;
  static std::map<int, CudaFacts> facts_of_devices;  // whose elements stay where they are
  int device = -1;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) {
    cudaGetLastError();  // so that nobody takes it for an error of a later call
    static const CudaFacts none = [error] {
      int version = 0;
      const bool has_driver = cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
      return Without(has_driver
                         ? std::string("there is no usable GPU: ") + cudaGetErrorString(error)
                         : std::string("there is no CUDA driver"));
    }();
    return none;
  }
  const std::lock_guard lock(mutex);
  const auto found = facts_of_devices.find(device);
  if (found != facts_of_devices.end()) return found->second;
  return facts_of_devices.emplace(device, Probe(device)).first->second;
}

}  // namespace tilescan::cuda
