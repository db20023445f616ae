// The calling thread's current GPU: another one for a while, and what its memory holds.
#include <cuda_runtime_api.h>

#include <string>

#include "cuda/error.h"
#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

int CountDevices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // so that nobody takes it for an error of a later call
  return 0;
}

}  // namespace

Status WithDevice(int32_t device, Status (*body)()) {
  const int num_devices = CountDevices();
  if (device < -1 || (num_devices > 0 && device >= num_devices)) {
    return Status::InvalidArgument("prepare: device is " + std::to_string(device) +
                                   ", expected -1 (the current GPU) to " +
                                   std::to_string(num_devices - 1));
  }
  // Without a GPU, body says why there is none.
  if (device == -1 || num_devices == 0) return body();
  int before = 0;
  TILESCAN_RETURN_IF_ERROR(StatusOf(cudaGetDevice(&before), "the current GPU"));
  TILESCAN_RETURN_IF_ERROR(StatusOf(cudaSetDevice(device), "changing the current GPU"));
  const Status status = body();
  const Status back = StatusOf(cudaSetDevice(before), "changing the current GPU back");
  return status.ok() ? back : status;
}

Status ReadDevice(void* to, const void* from, size_t num_bytes, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILESCAN_RETURN_IF_ERROR(
      StatusOf(cudaStreamIsCapturing(cuda_stream, &capture), "options.check_indices"));
  if (capture != cudaStreamCaptureStatusNone) {
    return Status::InvalidArgument(
        "options.check_indices is 1, expected 0 while the stream is being captured: the check "
        "waits for the stream");
  }
  TILESCAN_RETURN_IF_ERROR(
      StatusOf(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyDeviceToHost, cuda_stream),
               "options.check_indices: reading index operands"));
  return StatusOf(cudaStreamSynchronize(cuda_stream),
                  "options.check_indices: waiting for the stream");
}

}  // namespace tilescan::cuda
