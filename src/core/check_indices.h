// Checks of the values inside index operands, which can be made only when running. Every CPU row
// calls one of these before it writes anything.
#ifndef TILESCAN_CORE_CHECK_INDICES_H_
#define TILESCAN_CORE_CHECK_INDICES_H_

#include "core/causal_conv1d.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/split_conv1d_scan.h"
#include "core/state_update.h"
#include "core/status.h"

namespace tilescan {

// cu_seqlens begins with 0, does not decrease, and ends with seqlen. Any seq_idx is right.
// Allocates only for the message of a failure; so do the others.
Status CheckIndices(const ScanForwardProblem& problem);

// Each slot of state_batch_indices is negative (padding), or below num_slots and used once; each
// num_accepted is in 0..T. What belongs to a row of padding is not looked at.
Status CheckIndices(const StateUpdateProblem& problem);

// cu_seqlens as of the scan.
Status CheckIndices(const CausalConv1dForwardProblem& problem);

// The same.
Status CheckIndices(const SplitConv1dScanForwardProblem& problem);

// Slots of conv_state_indices as of state_update; cache_seqlens are not negative.
Status CheckIndices(const CausalConv1dUpdateProblem& problem);

// It has no index operand.
inline Status CheckIndices(const RmsNormGatedForwardProblem&) { return Status(); }

}  // namespace tilescan

#endif  // TILESCAN_CORE_CHECK_INDICES_H_
