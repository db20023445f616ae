// Turns the caller's description into a problem, or says everything that is wrong with it.
#ifndef TILESCAN_PLAN_VALIDATE_H_
#define TILESCAN_PLAN_VALIDATE_H_

#include "plan/operation.h"
#include "plan/violations.h"

namespace tilescan::plan {

template <typename Problem>
struct Validated {
  // As the caller gave them, without data: what a run is compared with.
  typename Operation<Problem>::Operands described;
  // In normal form, without data: what a kernel gets. Sizes that the violations concern are unset.
  Problem problem;
};

Validated<ScanForwardProblem> Validate(const tilescan_scan_forward_args& args,
                                       Violations* violations);
Validated<StateUpdateProblem> Validate(const tilescan_state_update_args& args,
                                       Violations* violations);
Validated<CausalConv1dForwardProblem> Validate(const tilescan_causal_conv1d_forward_args& args,
                                               Violations* violations);
Validated<CausalConv1dUpdateProblem> Validate(const tilescan_causal_conv1d_update_args& args,
                                              Violations* violations);
Validated<RmsNormGatedForwardProblem> Validate(const tilescan_rms_norm_gated_forward_args& args,
                                               Violations* violations);
Validated<SplitConv1dScanForwardProblem> Validate(
    const tilescan_split_conv1d_scan_forward_args& args, Violations* violations);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_VALIDATE_H_
