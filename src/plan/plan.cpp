#include "plan/plan.h"

#include "plan/read_args.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {

template <typename Problem>
Status MakePlan(const typename Operation<Problem>::Args& args, const tilescan_options* options,
                const DeviceFacts& facts, const RowLists<Problem>& row_lists,
                std::unique_ptr<const Plan>* plan) {
  Violations violations(Operation<Problem>::kName);
  typename Operation<Problem>::Args full_args;
  if (!ReadArgs(args, &full_args, &violations)) return violations.ToStatus();
  const Validated<Problem> validated = Validate(full_args, &violations);
  const Options read_options = ReadOptions(options, &violations);
  CheckNames(read_options, facts, row_lists, &violations);
  if (!Operation<Problem>::kHasChunks && read_options.chunk_size != 0) {
    violations.Add(Text("options.chunk_size is ", read_options.chunk_size,
                        ", expected 0: ", Operation<Problem>::kName, " has no chunks"));
  }
  TILESCAN_RETURN_IF_ERROR(violations.ToStatus());

  Planned<Problem> planned = {
      validated.described, validated.problem, {}, read_options.check_indices};
  TILESCAN_RETURN_IF_ERROR(
      Choose(planned.problem, read_options, facts, row_lists, &planned.choice));
  // Never null here, which clang-tidy cannot see.
  const Variant<Problem>* variant = planned.choice.variant;
  if (variant != nullptr && variant->prepare != nullptr) {
    TILESCAN_RETURN_IF_ERROR(variant->prepare(planned.problem, planned.choice.schedule));
  }
  *plan = std::make_unique<const Plan>(std::move(planned));
  return Status();
}

template Status MakePlan(const tilescan_scan_forward_args&, const tilescan_options*,
                         const DeviceFacts&, const RowLists<ScanForwardProblem>&,
                         std::unique_ptr<const Plan>*);
template Status MakePlan(const tilescan_state_update_args&, const tilescan_options*,
                         const DeviceFacts&, const RowLists<StateUpdateProblem>&,
                         std::unique_ptr<const Plan>*);
template Status MakePlan(const tilescan_causal_conv1d_forward_args&, const tilescan_options*,
                         const DeviceFacts&, const RowLists<CausalConv1dForwardProblem>&,
                         std::unique_ptr<const Plan>*);
template Status MakePlan(const tilescan_causal_conv1d_update_args&, const tilescan_options*,
                         const DeviceFacts&, const RowLists<CausalConv1dUpdateProblem>&,
                         std::unique_ptr<const Plan>*);
template Status MakePlan(const tilescan_rms_norm_gated_forward_args&, const tilescan_options*,
                         const DeviceFacts&, const RowLists<RmsNormGatedForwardProblem>&,
                         std::unique_ptr<const Plan>*);

}  // namespace tilescan::plan
