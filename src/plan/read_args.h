// The args structs of the C interface: their defaults, and reading them whatever version of the
// header the caller was built against.
#ifndef TILESCAN_PLAN_READ_ARGS_H_
#define TILESCAN_PLAN_READ_ARGS_H_

#include "plan/violations.h"
#include "tilescan/tilescan.h"

namespace tilescan::plan {

tilescan_scan_forward_args DefaultScanForwardArgs();
tilescan_state_update_args DefaultStateUpdateArgs();
tilescan_causal_conv1d_forward_args DefaultCausalConv1dForwardArgs();
tilescan_causal_conv1d_update_args DefaultCausalConv1dUpdateArgs();
tilescan_rms_norm_gated_forward_args DefaultRmsNormGatedForwardArgs();
tilescan_split_conv1d_scan_forward_args DefaultSplitConv1dScanForwardArgs();

// Fields the caller's struct lacks take their defaults. False if the struct cannot be read: a
// violation says why. Allocates only for that.
bool ReadArgs(const tilescan_scan_forward_args& given, tilescan_scan_forward_args* full,
              Violations* violations);
bool ReadArgs(const tilescan_state_update_args& given, tilescan_state_update_args* full,
              Violations* violations);
bool ReadArgs(const tilescan_causal_conv1d_forward_args& given,
              tilescan_causal_conv1d_forward_args* full, Violations* violations);
bool ReadArgs(const tilescan_causal_conv1d_update_args& given,
              tilescan_causal_conv1d_update_args* full, Violations* violations);
bool ReadArgs(const tilescan_rms_norm_gated_forward_args& given,
              tilescan_rms_norm_gated_forward_args* full, Violations* violations);
bool ReadArgs(const tilescan_split_conv1d_scan_forward_args& given,
              tilescan_split_conv1d_scan_forward_args* full, Violations* violations);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_READ_ARGS_H_
