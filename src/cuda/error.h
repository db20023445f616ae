// Errors of the CUDA runtime as statuses.
#ifndef TILESCAN_CUDA_ERROR_H_
#define TILESCAN_CUDA_ERROR_H_

#include <cuda_runtime_api.h>

#include <string>

#include "core/status.h"

namespace tilescan::cuda {

// what: the kernel or call that failed.
inline Status StatusOf(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status();
  cudaGetLastError();  // so that nobody takes it for an error of a later call
  std::string message = std::string(what) + ": " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? Status::OutOfMemory(std::move(message))
                                            : Status::Internal(std::move(message));
}

// Before launches by <<<>>>, after which there is only the thread's last error to ask: so that one
// of an earlier call of the caller's is not taken for theirs.
inline void ForgetEarlierError() { cudaGetLastError(); }

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_ERROR_H_
