// The decoding step on a GPU.
#ifndef TILESCAN_CUDA_STATE_UPDATE_H_
#define TILESCAN_CUDA_STATE_UPDATE_H_

#include <cuda_runtime_api.h>

#include <string>

#include "core/state_update.h"
#include "core/status.h"

namespace tilescan::cuda {

// Empty, or why the kernels cannot do a problem without float64 operands.
std::string ReasonAgainstStateUpdate(const StateUpdateProblem& problem);

// Loads the kernels that runs of the problem may need, so that the first can be captured.
Status PrepareStateUpdate(const StateUpdateProblem& problem);
// The same for every problem.
Status PrepareAllStateUpdates();

// Enqueues the step. Values of index operands are not checked: a slot or count out of range counts
// as padding or is clamped, a slot given twice gets either row's state.
Status RunStateUpdate(const StateUpdateProblem& problem, cudaStream_t stream);

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_UPDATE_H_
