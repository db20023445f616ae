#include "testing/operands.h"

#include <algorithm>
#include <array>

namespace tilescan::testing {
namespace {

// The tensor with dimensions of the given sizes and stride 0 appended.
tilescan_tensor Expanded(const HostTensor& tensor, std::initializer_list<int64_t> sizes) {
  tilescan_tensor described = tensor.Describe();
  if (!tensor.present()) return described;
  for (const int64_t size : sizes) {
    described.shape[described.ndim] = size;
    described.strides[described.ndim] = 0;
    ++described.ndim;
  }
  return described;
}

template <typename Args>
void SetOptions(const CallOptions& options, Args* args) {
  args->dt_softplus = options.dt_softplus ? 1 : 0;
  args->dt_limit[0] = options.dt_limit[0];
  args->dt_limit[1] = options.dt_limit[1];
}

template <typename Operands>
void SetOptionsOfProblem(const CallOptions& options, Operands* operands) {
  operands->dt_softplus = options.dt_softplus;
  operands->dt_limit_min = options.dt_limit[0];
  operands->dt_limit_max = options.dt_limit[1];
}

}  // namespace

TensorView WithTokens(const HostTensor& tensor, int ndim_with_tokens) {
  TensorView view = tensor.view();
  if (!tensor.present() || view.ndim == ndim_with_tokens) return view;
  std::copy_backward(view.shape.begin() + 1, view.shape.end() - 1, view.shape.end());
  std::copy_backward(view.strides.begin() + 1, view.strides.end() - 1, view.strides.end());
  view.shape[1] = 1;
  view.strides[1] = 0;
  ++view.ndim;
  return view;
}

tilescan_scan_forward_args MakeArgs(const ScanOperands& operands) {
  tilescan_scan_forward_args args;
  tilescan_scan_forward_args_init(&args);
  args.x = operands.x.Describe();
  args.dt = operands.dt.Describe();
  args.A = operands.A.Describe();
  args.B = operands.B.Describe();
  args.C = operands.C.Describe();
  args.D = operands.D.Describe();
  args.z = operands.z.Describe();
  args.dt_bias = operands.dt_bias.Describe();
  args.initial_states = operands.initial_states.Describe();
  args.seq_idx = operands.seq_idx.Describe();
  args.cu_seqlens = operands.cu_seqlens.Describe();
  args.out = operands.out.Describe();
  args.final_states = operands.final_states.Describe();
  args.states_out = operands.states_out.Describe();
  args.states_every = operands.options.states_every;
  SetOptions(operands.options, &args);
  return args;
}

tilescan_state_update_args MakeArgs(const StateUpdateOperands& operands) {
  tilescan_state_update_args args;
  tilescan_state_update_args_init(&args);
  const int64_t headdim = operands.state.shape()[2];
  const int64_t dstate = operands.state.shape()[3];
  const bool is_expanded = operands.options.is_expanded;
  args.state = operands.state.Describe();
  args.x = operands.x.Describe();
  args.dt = is_expanded ? Expanded(operands.dt, {headdim}) : operands.dt.Describe();
  args.A = is_expanded ? Expanded(operands.A, {headdim, dstate}) : operands.A.Describe();
  args.B = operands.B.Describe();
  args.C = operands.C.Describe();
  const bool is_D_per_head = operands.D.present() && operands.D.view().ndim == 1;
  args.D = is_expanded && is_D_per_head ? Expanded(operands.D, {headdim}) : operands.D.Describe();
  args.z = operands.z.Describe();
  args.dt_bias = is_expanded ? Expanded(operands.dt_bias, {headdim}) : operands.dt_bias.Describe();
  args.state_batch_indices = operands.state_batch_indices.Describe();
  args.fresh = operands.fresh.Describe();
  args.num_accepted = operands.num_accepted.Describe();
  args.out = operands.out.Describe();
  SetOptions(operands.options, &args);
  return args;
}

ScanForwardProblem MakeProblem(const ScanOperands& operands) {
  ScanForwardProblem problem;
  ScanForwardOperands& views = problem.operands;
  views.x = operands.x.view();
  views.dt = operands.dt.view();
  views.A = operands.A.view();
  views.B = operands.B.view();
  views.C = operands.C.view();
  views.D = operands.D.view();
  views.z = operands.z.view();
  views.dt_bias = operands.dt_bias.view();
  views.initial_states = operands.initial_states.view();
  views.seq_idx = operands.seq_idx.view();
  views.cu_seqlens = operands.cu_seqlens.view();
  views.out = operands.out.view();
  views.final_states = operands.final_states.view();
  views.states_out = operands.states_out.view();
  views.states_every = operands.options.states_every;
  SetOptionsOfProblem(operands.options, &views);
  ScanSizes& sizes = problem.sizes;
  sizes.batch = views.x.shape[0];
  sizes.seqlen = views.x.shape[1];
  sizes.nheads = views.x.shape[2];
  sizes.headdim = views.x.shape[3];
  sizes.ngroups = views.B.shape[2];
  sizes.dstate = views.B.shape[3];
  sizes.num_seqs = views.cu_seqlens.present() ? views.cu_seqlens.shape[0] - 1 : sizes.batch;
  return problem;
}

StateUpdateProblem MakeProblem(const StateUpdateOperands& operands) {
  StateUpdateProblem problem;
  tilescan::StateUpdateOperands& views = problem.operands;
  views.state = operands.state.view();
  views.x = WithTokens(operands.x, 4);
  views.dt = WithTokens(operands.dt, 3);
  views.A = operands.A.view();
  views.B = WithTokens(operands.B, 4);
  views.C = WithTokens(operands.C, 4);
  views.D = operands.D.view();
  views.z = WithTokens(operands.z, 4);
  views.dt_bias = operands.dt_bias.view();
  views.state_batch_indices = operands.state_batch_indices.view();
  views.fresh = operands.fresh.view();
  views.num_accepted = operands.num_accepted.view();
  views.out = WithTokens(operands.out, 4);
  SetOptionsOfProblem(operands.options, &views);
  StateUpdateSizes& sizes = problem.sizes;
  sizes.batch = views.x.shape[0];
  sizes.num_tokens = views.x.shape[1];
  sizes.num_slots = views.state.shape[0];
  sizes.nheads = views.x.shape[2];
  sizes.headdim = views.x.shape[3];
  sizes.ngroups = views.B.shape[2];
  sizes.dstate = views.B.shape[3];
  return problem;
}

}  // namespace tilescan::testing
