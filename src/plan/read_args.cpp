#include "plan/read_args.h"

#include <limits>

#include "plan/operation.h"
#include "plan/read_struct.h"

namespace tilescan::plan {
namespace {

template <typename Args>
Args WithDefaults() {
  Args args = {};
  args.struct_size = sizeof(Args);
  return args;
}

template <typename Args>
Args WithStepDefaults() {
  Args args = WithDefaults<Args>();
  args.dt_limit[0] = 0.0f;
  args.dt_limit[1] = std::numeric_limits<float>::infinity();
  return args;
}

// Those of an operation's list of operands, then the others given.
template <typename Problem, typename Args, typename... Fields>
bool ReadFields(const Args& given, Args* full, Violations* violations, Fields Args::*... fields) {
  if (!CheckStructSize("args", given, violations)) return false;
  for (const auto& field : Operation<Problem>::kFields) ReadField(given, field.described, full);
  (ReadField(given, fields, full), ...);
  return true;
}

}  // namespace

tilescan_scan_forward_args DefaultScanForwardArgs() {
  return WithStepDefaults<tilescan_scan_forward_args>();
}

tilescan_state_update_args DefaultStateUpdateArgs() {
  return WithStepDefaults<tilescan_state_update_args>();
}

tilescan_causal_conv1d_forward_args DefaultCausalConv1dForwardArgs() {
  return WithDefaults<tilescan_causal_conv1d_forward_args>();
}

tilescan_causal_conv1d_update_args DefaultCausalConv1dUpdateArgs() {
  return WithDefaults<tilescan_causal_conv1d_update_args>();
}

tilescan_rms_norm_gated_forward_args DefaultRmsNormGatedForwardArgs() {
  tilescan_rms_norm_gated_forward_args args = WithDefaults<tilescan_rms_norm_gated_forward_args>();
  args.eps = RmsNormGatedForwardOperands().eps;
  return args;
}

tilescan_split_conv1d_scan_forward_args DefaultSplitConv1dScanForwardArgs() {
  auto args = WithStepDefaults<tilescan_split_conv1d_scan_forward_args>();
  const SplitConv1dScanForwardOperands defaults;
  args.ngroups = defaults.ngroups;
  args.rmsnorm_eps = defaults.rmsnorm_eps;
  return args;
}

bool ReadArgs(const tilescan_scan_forward_args& given, tilescan_scan_forward_args* full,
              Violations* violations) {
  using Args = tilescan_scan_forward_args;
  *full = DefaultScanForwardArgs();
  return ReadFields<ScanForwardProblem>(given, full, violations, &Args::dt_softplus,
                                        &Args::dt_limit, &Args::states_every);
}

bool ReadArgs(const tilescan_state_update_args& given, tilescan_state_update_args* full,
              Violations* violations) {
  using Args = tilescan_state_update_args;
  *full = DefaultStateUpdateArgs();
  return ReadFields<StateUpdateProblem>(given, full, violations, &Args::dt_softplus,
                                        &Args::dt_limit);
}

bool ReadArgs(const tilescan_causal_conv1d_forward_args& given,
              tilescan_causal_conv1d_forward_args* full, Violations* violations) {
  *full = DefaultCausalConv1dForwardArgs();
  return ReadFields<CausalConv1dForwardProblem>(given, full, violations,
                                                &tilescan_causal_conv1d_forward_args::activation);
}

bool ReadArgs(const tilescan_causal_conv1d_update_args& given,
              tilescan_causal_conv1d_update_args* full, Violations* violations) {
  *full = DefaultCausalConv1dUpdateArgs();
  return ReadFields<CausalConv1dUpdateProblem>(given, full, violations,
                                               &tilescan_causal_conv1d_update_args::activation);
}

bool ReadArgs(const tilescan_rms_norm_gated_forward_args& given,
              tilescan_rms_norm_gated_forward_args* full, Violations* violations) {
  using Args = tilescan_rms_norm_gated_forward_args;
  *full = DefaultRmsNormGatedForwardArgs();
  return ReadFields<RmsNormGatedForwardProblem>(given, full, violations, &Args::group_size,
                                                &Args::eps, &Args::norm_before_gate);
}

bool ReadArgs(const tilescan_split_conv1d_scan_forward_args& given,
              tilescan_split_conv1d_scan_forward_args* full, Violations* violations) {
  using Args = tilescan_split_conv1d_scan_forward_args;
  *full = DefaultSplitConv1dScanForwardArgs();
  return ReadFields<SplitConv1dScanForwardProblem>(
      given, full, violations, &Args::ngroups, &Args::group_size, &Args::rmsnorm_eps,
      &Args::norm_before_gate, &Args::activation, &Args::dt_softplus, &Args::dt_limit);
}

}  // namespace tilescan::plan
