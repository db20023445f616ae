// Checks of the values inside index operands that are in a GPU's memory.
#ifndef TILESCAN_PLAN_CHECK_DEVICE_INDICES_H_
#define TILESCAN_PLAN_CHECK_DEVICE_INDICES_H_

#include <cstddef>

#include "core/causal_conv1d.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/split_conv1d_scan.h"
#include "core/state_update.h"
#include "core/status.h"

namespace tilescan::plan {

// Copies bytes from the GPU behind what the stream holds, and waits for them.
using ReadDevice = Status(void* to, const void* from, size_t num_bytes, void* stream);

// Copies the index operands to the host, and checks them as CheckIndices() of core/check_indices.h
// does, with the same message.
Status CheckDeviceIndices(const ScanForwardProblem& problem, ReadDevice& read, void* stream);
Status CheckDeviceIndices(const StateUpdateProblem& problem, ReadDevice& read, void* stream);
Status CheckDeviceIndices(const CausalConv1dForwardProblem& problem, ReadDevice& read,
                          void* stream);
Status CheckDeviceIndices(const CausalConv1dUpdateProblem& problem, ReadDevice& read, void* stream);
Status CheckDeviceIndices(const SplitConv1dScanForwardProblem& problem, ReadDevice& read,
                          void* stream);
// It has none.
inline Status CheckDeviceIndices(const RmsNormGatedForwardProblem&, ReadDevice&, void*) {
  return Status();
}

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_CHECK_DEVICE_INDICES_H_
