#include "cuda/launch.cuh"
#include "cuda/skip_rows.h"
#include "numerics/elements.h"

namespace tilescan::cuda {
namespace {

constexpr int kThreads = 128;

// A block a head.
__global__ void __launch_bounds__(kThreads)
    SkipRows(const TensorView D, int64_t headdim, float* rows) {
  const int64_t channel_stride = D.ndim == 2 ? D.strides[1] : 0;
  for (int64_t channel = threadIdx.x; channel < headdim; channel += kThreads) {
    const int64_t offset = blockIdx.x * D.strides[0] + channel * channel_stride;
    rows[blockIdx.x * headdim + channel] = D.present() ? numerics::LoadFloat(D, offset) : 0.0f;
  }
}

}  // namespace

Status WriteSkipRows(const TensorView& D, int64_t nheads, int64_t headdim, float* rows,
                     cudaStream_t stream) {
  if (nheads == 0) return Status();
  const LaunchShape shape = {
      .grid = dim3(static_cast<unsigned>(nheads)), .num_threads = kThreads, .stream = stream};
  return LaunchKernel("SkipRows", SkipRows, shape, D, headdim, rows);
}

Status LoadSkipKernel() { return LoadKernel("SkipRows", SkipRows); }

}  // namespace tilescan::cuda
