// Enqueues a kernel and says how that went.
#ifndef TILESCAN_CUDA_LAUNCH_CUH_
#define TILESCAN_CUDA_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstddef>

#include "core/status.h"
#include "cuda/error.h"

namespace tilescan::cuda {

struct LaunchShape {
  dim3 grid;
  unsigned num_threads;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool is_cooperative = false;  // all blocks run at the same time, or the launch fails
  unsigned num_threads_y = 1;   // of blocks with num_threads along x
  // Blocks may start when those of the kernel before it in the stream have all started and called
  // cudaTriggerProgrammaticLaunchCompletion(), or ended; cudaGridDependencySynchronize() waits
  // until that kernel has ended. From sm_90 on.
  bool starts_early = false;
};

// The status is that of this launch. After <<<>>> there is only the thread's last error to ask,
// which may be of an earlier call of the caller's.
template <typename... Params, typename... Args>
Status LaunchKernel(const char* name, void (*kernel)(Params...), const LaunchShape& shape,
                    const Args&... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.num_threads, shape.num_threads_y);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (shape.is_cooperative) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  if (shape.starts_early) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  return StatusOf(cudaLaunchKernelEx(&config, kernel, args...), name);
}

// Loads a kernel onto the current GPU, so that its first launch can be captured.
template <typename... Params>
Status LoadKernel(const char* name, void (*kernel)(Params...)) {
  cudaFuncAttributes attributes;
  return StatusOf(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), name);
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_LAUNCH_CUH_
