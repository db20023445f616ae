#include "plan/run.h"

#include <cstdint>

#include "core/check_indices.h"
#include "plan/layout.h"
#include "plan/read_args.h"
#include "plan/read_operands.h"
#include "plan/split_parts.h"
#include "plan/text.h"

namespace tilescan::plan {
namespace {

// The view is as planned, with the data of this run. Kernels on a GPU may have been chosen for the
// alignment that was planned.
void CheckData(const char* name, const TensorView& view, bool is_on_gpu, Violations* violations) {
  if (!view.present() || view.num_elements() == 0) return;
  const int64_t element_bytes = ElementBytes(view.dtype);
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  if (view.data == nullptr) {
    violations->Add(Text(name, " has data NULL, expected the address of its first element"));
  } else if (address % static_cast<uintptr_t>(element_bytes) != 0) {
    violations->Add(Text(name, " has data ", view.data, ", expected a multiple of ", element_bytes,
                         " because it is ", DTypeName(view.dtype)));
  } else if (is_on_gpu && view.is_aligned && address % kVectorAlignment != 0) {
    violations->Add(Text(name, " has data ", view.data, ", expected a multiple of ",
                         kVectorAlignment, " as planned"));
  }
}

template <typename Problem>
void BindOperands(const typename Operation<Problem>::Args& args, const Planned<Problem>& planned,
                  typename Operation<Problem>::Operands* operands, Violations* violations) {
  for (const auto& field : Operation<Problem>::kFields) {
    const tilescan_tensor& given = args.*field.described;
    const TensorView& described = planned.described.*field.view;
    if (!IsDescribedAs(given, described)) {
      violations->Add(Text(field.name, " is ", DescriptionText(given),
                           ", expected as planned: ", DescriptionText(described)));
      continue;
    }
    TensorView& view = operands->*field.view;
    view.data = given.data;
    CheckData(field.name, view, planned.takes_stream(), violations);
  }
}

template <typename Value>
void CheckAsPlanned(const char* name, Value given, Value planned, Violations* violations) {
  if (given == planned) return;
  violations->Add(Text(name, " is ", given, ", expected as planned: ", planned));
}

template <typename Args, typename Operands>
void CheckStepAsPlanned(const Args& args, const Operands& planned, Violations* violations) {
  CheckAsPlanned("dt_softplus", args.dt_softplus, int32_t{planned.dt_softplus}, violations);
  CheckAsPlanned("dt_limit[0]", args.dt_limit[0], planned.dt_limit_min, violations);
  CheckAsPlanned("dt_limit[1]", args.dt_limit[1], planned.dt_limit_max, violations);
}

void CheckScalars(const tilescan_scan_forward_args& args, const ScanForwardOperands& planned,
                  Violations* violations) {
  CheckAsPlanned("states_every", args.states_every, planned.states_every, violations);
  CheckStepAsPlanned(args, planned, violations);
}

void CheckScalars(const tilescan_state_update_args& args, const StateUpdateOperands& planned,
                  Violations* violations) {
  CheckStepAsPlanned(args, planned, violations);
}

void CheckScalars(const tilescan_causal_conv1d_forward_args& args,
                  const CausalConv1dForwardOperands& planned, Violations* violations) {
  CheckAsPlanned("activation", args.activation, int32_t{planned.has_silu}, violations);
}

void CheckScalars(const tilescan_causal_conv1d_update_args& args,
                  const CausalConv1dUpdateOperands& planned, Violations* violations) {
  CheckAsPlanned("activation", args.activation, int32_t{planned.has_silu}, violations);
}

void CheckScalars(const tilescan_rms_norm_gated_forward_args& args,
                  const RmsNormGatedForwardOperands& planned, Violations* violations) {
  CheckAsPlanned("group_size", args.group_size, planned.group_size, violations);
  CheckAsPlanned("eps", args.eps, planned.eps, violations);
  CheckAsPlanned("norm_before_gate", args.norm_before_gate, int32_t{planned.norm_before_gate},
                 violations);
}

void CheckScalars(const tilescan_split_conv1d_scan_forward_args& args,
                  const SplitConv1dScanForwardOperands& planned, Violations* violations) {
  CheckAsPlanned("ngroups", args.ngroups, planned.ngroups, violations);
  CheckAsPlanned("group_size", args.group_size, planned.group_size, violations);
  CheckAsPlanned("rmsnorm_eps", args.rmsnorm_eps, planned.rmsnorm_eps, violations);
  CheckAsPlanned("norm_before_gate", args.norm_before_gate, int32_t{planned.norm_before_gate},
                 violations);
  CheckAsPlanned("activation", args.activation, int32_t{planned.has_silu}, violations);
  CheckStepAsPlanned(args, planned, violations);
}

// Each pair of an output and another operand. What interleaves in memory is the caller's to keep
// apart: see CertainlyOverlap().
template <typename Problem>
void CheckApart(const typename Operation<Problem>::Operands& operands, Violations* violations) {
  for (const auto& output : Operation<Problem>::kFields) {
    const TensorView& written = operands.*output.view;
    if (!output.is_output || !written.present()) continue;
    bool is_other_first = true;
    for (const auto& other : Operation<Problem>::kFields) {
      if (other.view == output.view) {
        is_other_first = false;
        continue;
      }
      const TensorView& view = operands.*other.view;
      if (!view.present() || (other.is_output && is_other_first)) continue;
      if (!CertainlyOverlap(written, view)) continue;
      const bool is_in_place = output.in_place_of == other.view && written.data == view.data &&
                               SameLayout(written, view);
      if (is_in_place) continue;
      violations->Add(Text(output.name, " overlaps ", other.name,
                           ", expected memory apart from every other operand"));
    }
  }
}

template <typename Problem>
void CheckPlace(const Place& place, bool takes_stream, size_t required_bytes,
                const typename Operation<Problem>::Operands& operands, Violations* violations) {
  if (place.stream != nullptr && !takes_stream) {
    violations->Add("stream is not NULL, expected NULL because this backend runs on the CPU");
  }
  if (required_bytes == 0) return;
  if (place.workspace == nullptr || place.workspace_bytes < required_bytes) {
    const size_t given_bytes = place.workspace == nullptr ? 0 : place.workspace_bytes;
    violations->Add(
        Text("workspace has ", given_bytes, " bytes, expected ", required_bytes, " or more"));
    return;
  }
  TensorView workspace;
  workspace.data = place.workspace;
  workspace.dtype = DType::kUInt8;
  workspace.ndim = 1;
  workspace.shape[0] = static_cast<int64_t>(required_bytes);
  workspace.strides[0] = 1;
  for (const auto& field : Operation<Problem>::kFields) {
    const TensorView& view = operands.*field.view;
    if (!view.present() || !CertainlyOverlap(workspace, view)) continue;
    violations->Add(Text("workspace overlaps ", field.name));
  }
}

template <typename Problem>
Status RunKernels(const Planned<Problem>& planned, const Problem& problem, const Place& place) {
  return planned.choice.variant->run(problem,
                                     {planned.choice.schedule, place.workspace, place.stream});
}

using Split = SplitConv1dScanForwardProblem;

template <typename Problem>
Status RunPart(const Choice<Problem>& choice, const Problem& problem, const Place& place) {
  const Status status =
      choice.variant->run(problem, {choice.schedule, place.workspace, place.stream});
  // A prefix takes memory, which a run that goes well does not.
  return status.ok() ? Status() : status.WithPrefix(Text(Operation<Split>::kName, ": "));
}

Status RunKernels(const Planned<Split>& planned, const Split& problem, const Place& place) {
  // Under this operation's name, where a part would give its own.
  if (!planned.takes_stream()) TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  Carver carver(place.workspace);
  const Planned<Split>::Workspace workspace = planned.Take(carver);
  const SplitParts parts = MakeSplitParts(problem, workspace.xBC);
  Place of_part = place;
  of_part.workspace = workspace.of_part;
  TILESCAN_RETURN_IF_ERROR(RunPart(planned.conv, parts.conv, of_part));
  TILESCAN_RETURN_IF_ERROR(RunPart(planned.scan, parts.scan, of_part));
  if (!problem.operands.rmsnorm_weight.present()) return Status();
  return RunPart(planned.norm, parts.norm, of_part);
}

}  // namespace

template <typename Problem>
Status RunPlan(const Plan& plan, const typename Operation<Problem>::Args& args,
               const Place& place) {
  Violations violations(Operation<Problem>::kName);
  const Planned<Problem>* planned = plan.Get<Problem>();
  if (planned == nullptr) {
    violations.Add(Text("plan is of ", plan.operation_name()));
    return violations.ToStatus();
  }
  typename Operation<Problem>::Args full_args;
  if (!ReadArgs(args, &full_args, &violations)) return violations.ToStatus();

  Problem problem = planned->problem;
  BindOperands(full_args, *planned, &problem.operands, &violations);
  CheckScalars(full_args, planned->described, &violations);
  if (violations.empty()) {
    CheckApart<Problem>(problem.operands, &violations);
    CheckPlace<Problem>(place, planned->takes_stream(), planned->workspace_bytes(),
                        problem.operands, &violations);
  }
  TILESCAN_RETURN_IF_ERROR(violations.ToStatus());
  if (planned->check_indices && planned->takes_stream()) {
    TILESCAN_RETURN_IF_ERROR(CheckDeviceIndices(problem, *place.read_device, place.stream));
  }
  return RunKernels(*planned, problem, place);
}

template Status RunPlan<ScanForwardProblem>(const Plan&, const tilescan_scan_forward_args&,
                                            const Place&);
template Status RunPlan<StateUpdateProblem>(const Plan&, const tilescan_state_update_args&,
                                            const Place&);
template Status RunPlan<CausalConv1dForwardProblem>(const Plan&,
                                                    const tilescan_causal_conv1d_forward_args&,
                                                    const Place&);
template Status RunPlan<CausalConv1dUpdateProblem>(const Plan&,
                                                   const tilescan_causal_conv1d_update_args&,
                                                   const Place&);
template Status RunPlan<RmsNormGatedForwardProblem>(const Plan&,
                                                    const tilescan_rms_norm_gated_forward_args&,
                                                    const Place&);
template Status RunPlan<Split>(const Plan&, const tilescan_split_conv1d_scan_forward_args&,
                               const Place&);

}  // namespace tilescan::plan
