// The causal convolution and its decoding step on a GPU.
#ifndef TILESCAN_CUDA_CAUSAL_CONV1D_H_
#define TILESCAN_CUDA_CAUSAL_CONV1D_H_

#include <cuda_runtime_api.h>

#include <string>

#include "core/causal_conv1d.h"
#include "core/status.h"

namespace tilescan::cuda {

// Empty, or why the kernels cannot do a problem without float64 operands.
std::string ReasonAgainstCausalConv1d(const CausalConv1dForwardProblem& problem);
std::string ReasonAgainstCausalConv1d(const CausalConv1dUpdateProblem& problem);

// Loads the kernels of every problem, so that the first run can be captured.
Status PrepareCausalConv1dForward();
Status PrepareCausalConv1dUpdate();

// Enqueue the work. Values of index operands are not checked, and kept in bounds: what they mean
// where they are wrong stands in include/tilescan/layer.h. num_multiprocessors: of the GPU; bits do
// not depend on it.
Status RunCausalConv1dForward(const CausalConv1dForwardProblem& problem,
                              int32_t num_multiprocessors, cudaStream_t stream);
Status RunCausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, cudaStream_t stream);

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_CAUSAL_CONV1D_H_
