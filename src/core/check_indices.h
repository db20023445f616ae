// Checks of the values inside index operands, which can be made only when running. Every CPU row
// calls one of these before it writes anything.
#ifndef TILESCAN_CORE_CHECK_INDICES_H_
#define TILESCAN_CORE_CHECK_INDICES_H_

#include "core/scan_forward.h"
#include "core/state_update.h"
#include "core/status.h"

namespace tilescan {

// cu_seqlens begins with 0, does not decrease, and ends with seqlen. Any seq_idx is right.
// Allocates only for the message of a failure; so does the other.
Status CheckIndices(const ScanForwardProblem& problem);

// Each slot of state_batch_indices is negative (padding), or below num_slots and used once; each
// num_accepted is in 0..T. What belongs to a row of padding is not looked at.
Status CheckIndices(const StateUpdateProblem& problem);

}  // namespace tilescan

#endif  // TILESCAN_CORE_CHECK_INDICES_H_
