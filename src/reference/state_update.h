// The decoding step in float64.
#ifndef TILESCAN_REFERENCE_STATE_UPDATE_H_
#define TILESCAN_REFERENCE_STATE_UPDATE_H_

#include <cstddef>

#include "core/state_update.h"
#include "core/status.h"
#include "plan/variant.h"

namespace tilescan::reference {

// Every operand of the public interface, any dtype, any strides.
size_t StateUpdateWorkspaceBytes(const StateUpdateProblem& problem, const Schedule& schedule);
Status RunStateUpdate(const StateUpdateProblem& problem, const Launch& launch);

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_STATE_UPDATE_H_
