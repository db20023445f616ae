// The gated RMSNorm on a GPU.
#ifndef TILESCAN_CUDA_RMS_NORM_GATED_H_
#define TILESCAN_CUDA_RMS_NORM_GATED_H_

#include <cuda_runtime_api.h>

#include <string>

#include "core/rms_norm_gated.h"
#include "core/status.h"

namespace tilescan::cuda {

// Empty, or why the kernels cannot do a problem without float64 operands.
std::string ReasonAgainstRmsNormGated(const RmsNormGatedForwardProblem& problem);

// Loads the kernels of every problem, so that the first run can be captured.
Status PrepareRmsNormGatedForward();

// Enqueues the norm.
Status RunRmsNormGatedForward(const RmsNormGatedForwardProblem& problem, cudaStream_t stream);

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_RMS_NORM_GATED_H_
