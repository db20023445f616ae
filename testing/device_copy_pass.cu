// The copy that GPU figures are held against. A kernel of our own: in a graph, cudaMemcpyAsync's
// copies on a GPU reach two thirds of what a kernel does (2716 of 4254 GB/s on an H200).
#include <cuda_runtime.h>

#include <cstdint>

#include "testing/device_error.h"
#include "testing/device_memory.h"

namespace tilescan::testing {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kVectors = 4;  // of a thread
constexpr size_t kBlockVectors = kThreads * kVectors;

__global__ void __launch_bounds__(kThreads)
    CopyPass(uint4* to, const uint4* from, size_t num_vectors) {
  const size_t first = blockIdx.x * kBlockVectors + threadIdx.x;
  uint4 held[kVectors] = {};
#pragma unroll
  for (size_t idx = 0; idx < kVectors; ++idx) {
    const size_t at = first + idx * kThreads;
    if (at < num_vectors) held[idx] = from[at];
  }
#pragma unroll
  for (size_t idx = 0; idx < kVectors; ++idx) {
    const size_t at = first + idx * kThreads;
    if (at < num_vectors) to[at] = held[idx];
  }
}

__global__ void CopyTail(std::byte* to, const std::byte* from) {
  to[threadIdx.x] = from[threadIdx.x];
}

}  // namespace

void EnqueueDeviceCopy(std::byte* to, const std::byte* from, size_t bytes, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const size_t num_vectors = bytes / sizeof(uint4);
  const size_t num_blocks = (num_vectors + kBlockVectors - 1) / kBlockVectors;
  if (num_blocks > 0) {
    CopyPass<<<static_cast<unsigned>(num_blocks), kThreads, 0, on>>>(
        reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), num_vectors);
  }
  const size_t done = num_vectors * sizeof(uint4);
  if (done < bytes) {
    CopyTail<<<1, static_cast<unsigned>(bytes - done), 0, on>>>(to + done, from + done);
  }
  ThrowUnlessOk(cudaGetLastError(), "copying on the GPU");
}

}  // namespace tilescan::testing
