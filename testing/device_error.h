// Errors of the CUDA runtime as exceptions. For sources that are built with CUDA only.
#ifndef TILESCAN_TESTING_DEVICE_ERROR_H_
#define TILESCAN_TESTING_DEVICE_ERROR_H_

#include <cuda_runtime_api.h>

#include <string>

#include "testing/device_memory.h"

namespace tilescan::testing {

inline void ThrowUnlessOk(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that nobody takes it for an error of a later call
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_DEVICE_ERROR_H_
