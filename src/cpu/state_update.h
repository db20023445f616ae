// The decoding step, with batch rows and heads dealt out to the threads.
#ifndef TILESCAN_CPU_STATE_UPDATE_H_
#define TILESCAN_CPU_STATE_UPDATE_H_

#include "core/state_update.h"
#include "cpu/kernels/state_step.h"
#include "plan/variant.h"

namespace tilescan::cpu {

size_t StateUpdateWorkspaceBytes(const StateUpdateProblem& problem, const StateStepSteps& steps,
                                 const Schedule& schedule);

// CheckIndices() has passed.
void StateUpdate(const StateUpdateProblem& problem, const StateStepSteps& steps,
                 const Launch& launch);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_STATE_UPDATE_H_
