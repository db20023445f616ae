#include "plan/plan.h"

#include <algorithm>

#include "plan/read_args.h"
#include "plan/split_parts.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

using Split = SplitConv1dScanForwardProblem;

// The rows whose kernels options may name.
template <typename Problem>
const RowLists<Problem>& NamedRows(const RowLists<Problem>& row_lists) {
  return row_lists;
}
const RowLists<ScanForwardProblem>& NamedRows(const SplitRowLists& row_lists) {
  return row_lists.scan;
}

template <typename Problem>
Status ChooseAndPrepare(const Problem& problem, const Options& options, const DeviceFacts& facts,
                        const RowLists<Problem>& row_lists, Choice<Problem>* choice) {
  TILESCAN_RETURN_IF_ERROR(Choose(problem, options, facts, row_lists, choice));
  // Never null here, which clang-tidy cannot see.
  const Variant<Problem>* variant = choice->variant;
  if (variant == nullptr || variant->prepare == nullptr) return Status();
  return variant->prepare(problem, choice->schedule);
}

template <typename Problem>
Status ChooseKernels(const Options& options, const DeviceFacts& facts,
                     const RowLists<Problem>& row_lists, Planned<Problem>* planned) {
  return ChooseAndPrepare(planned->problem, options, facts, row_lists, &planned->choice);
}

Status ChooseParts(const Options& options, const DeviceFacts& facts, const SplitRowLists& row_lists,
                   Planned<Split>* planned) {
  const SplitParts parts = MakeSplitParts(planned->problem, nullptr);
  Options of_others = options;
  of_others.kernel.clear();
  of_others.chunk_size = 0;
  TILESCAN_RETURN_IF_ERROR(
      ChooseAndPrepare(parts.conv, of_others, facts, row_lists.conv, &planned->conv));
  TILESCAN_RETURN_IF_ERROR(
      ChooseAndPrepare(parts.scan, options, facts, row_lists.scan, &planned->scan));
  if (!planned->problem.operands.rmsnorm_weight.present()) return Status();
  return ChooseAndPrepare(parts.norm, of_others, facts, row_lists.norm, &planned->norm);
}

Status ChooseKernels(const Options& options, const DeviceFacts& facts,
                     const SplitRowLists& row_lists, Planned<Split>* planned) {
  constexpr const char* kName = Operation<Split>::kName;
  TILESCAN_RETURN_IF_ERROR(
      ChooseParts(options, facts, row_lists, planned).WithPrefix(Text(kName, ": ")));
  if (planned->workspace_bytes() <= Carver::kMostBytes) return Status();
  return Status::Unsupported(Text(kName, ": needs a workspace of more than 2^48 bytes"));
}

}  // namespace

Planned<Split>::Workspace Planned<Split>::Take(Carver& carver) const {
  const SplitConv1dScanForwardSizes& sizes = problem.sizes;
  const size_t most_of_part =
      std::max({conv.workspace_bytes, scan.workspace_bytes, norm.workspace_bytes});
  Workspace workspace = {};
  workspace.xBC = carver.Take<std::byte>(
      sizes.batch * sizes.seqlen * ElementBytes(problem.operands.zxbcdt.dtype), sizes.conv_dim());
  workspace.of_part = carver.Take<std::byte>(static_cast<int64_t>(most_of_part));
  return workspace;
}

size_t Planned<Split>::workspace_bytes() const {
  Carver counter;
  Take(counter);
  return counter.required_bytes();
}

template <typename Problem>
Status MakePlan(const typename Operation<Problem>::Args& args, const tilescan_options* options,
                const DeviceFacts& facts, const typename RowsOf<Problem>::Type& row_lists,
                std::unique_ptr<const Plan>* plan) {
  Violations violations(Operation<Problem>::kName);
  typename Operation<Problem>::Args full_args;
  if (!ReadArgs(args, &full_args, &violations)) return violations.ToStatus();
  const Validated<Problem> validated = Validate(full_args, &violations);
  const Options read_options = ReadOptions(options, &violations);
  CheckNames(read_options, facts, NamedRows(row_lists), &violations);
  if (!Operation<Problem>::kHasChunks && read_options.chunk_size != 0) {
    violations.Add(Text("options.chunk_size is ", read_options.chunk_size,
                        ", expected 0: ", Operation<Problem>::kName, " has no chunks"));
  }
  TILESCAN_RETURN_IF_ERROR(violations.ToStatus());

  Planned<Problem> planned;
  planned.described = validated.described;
  planned.problem = validated.problem;
  planned.check_indices = read_options.check_indices;
  TILESCAN_RETURN_IF_ERROR(ChooseKernels(read_options, facts, row_lists, &planned));
  *plan = std::make_unique<const Plan>(std::move(planned));
  return Status();
}

template Status MakePlan<ScanForwardProblem>(const tilescan_scan_forward_args&,
                                             const tilescan_options*, const DeviceFacts&,
                                             const RowLists<ScanForwardProblem>&,
                                             std::unique_ptr<const Plan>*);
template Status MakePlan<StateUpdateProblem>(const tilescan_state_update_args&,
                                             const tilescan_options*, const DeviceFacts&,
                                             const RowLists<StateUpdateProblem>&,
                                             std::unique_ptr<const Plan>*);
template Status MakePlan<CausalConv1dForwardProblem>(const tilescan_causal_conv1d_forward_args&,
                                                     const tilescan_options*, const DeviceFacts&,
                                                     const RowLists<CausalConv1dForwardProblem>&,
                                                     std::unique_ptr<const Plan>*);
template Status MakePlan<CausalConv1dUpdateProblem>(const tilescan_causal_conv1d_update_args&,
                                                    const tilescan_options*, const DeviceFacts&,
                                                    const RowLists<CausalConv1dUpdateProblem>&,
                                                    std::unique_ptr<const Plan>*);
template Status MakePlan<RmsNormGatedForwardProblem>(const tilescan_rms_norm_gated_forward_args&,
                                                     const tilescan_options*, const DeviceFacts&,
                                                     const RowLists<RmsNormGatedForwardProblem>&,
                                                     std::unique_ptr<const Plan>*);
template Status MakePlan<Split>(const tilescan_split_conv1d_scan_forward_args&,
                                const tilescan_options*, const DeviceFacts&, const SplitRowLists&,
                                std::unique_ptr<const Plan>*);

}  // namespace tilescan::plan
