// Operands of the operations around the scan, for the public interface and as problems; and from
// their cases.
#include "testing/case.h"
#include "testing/operands.h"

namespace tilescan::testing {
namespace {

using Shape = std::vector<int64_t>;

int32_t ActivationOf(const CallOptions& options) {
  return options.has_silu ? TILESCAN_ACTIVATION_SILU : TILESCAN_ACTIVATION_NONE;
}

}  // namespace

tilescan_causal_conv1d_forward_args MakeArgs(const ConvOperands& operands) {
  tilescan_causal_conv1d_forward_args args;
  tilescan_causal_conv1d_forward_args_init(&args);
  args.x = operands.x.Describe();
  args.weight = operands.weight.Describe();
  args.bias = operands.bias.Describe();
  args.initial_states = operands.initial_states.Describe();
  args.seq_idx = operands.seq_idx.Describe();
  args.cu_seqlens = operands.cu_seqlens.Describe();
  args.out = operands.out.Describe();
  args.final_states = operands.final_states.Describe();
  args.activation = ActivationOf(operands.options);
  return args;
}

tilescan_causal_conv1d_update_args MakeArgs(const ConvUpdateOperands& operands) {
  tilescan_causal_conv1d_update_args args;
  tilescan_causal_conv1d_update_args_init(&args);
  args.conv_state = operands.conv_state.Describe();
  args.x = operands.x.Describe();
  args.weight = operands.weight.Describe();
  args.bias = operands.bias.Describe();
  args.conv_state_indices = operands.conv_state_indices.Describe();
  args.cache_seqlens = operands.cache_seqlens.Describe();
  args.out = operands.out.Describe();
  args.activation = ActivationOf(operands.options);
  return args;
}

tilescan_rms_norm_gated_forward_args MakeArgs(const NormOperands& operands) {
  tilescan_rms_norm_gated_forward_args args;
  tilescan_rms_norm_gated_forward_args_init(&args);
  args.x = operands.x.Describe();
  args.weight = operands.weight.Describe();
  args.bias = operands.bias.Describe();
  args.z = operands.z.Describe();
  args.out = operands.out.Describe();
  args.group_size = operands.options.group_size;
  args.eps = operands.options.eps;
  args.norm_before_gate = operands.options.norm_before_gate ? 1 : 0;
  return args;
}

CausalConv1dForwardProblem MakeProblem(const ConvOperands& operands) {
  CausalConv1dForwardProblem problem;
  CausalConv1dForwardOperands& views = problem.operands;
  views.x = operands.x.view();
  views.weight = operands.weight.view();
  views.bias = operands.bias.view();
  views.initial_states = operands.initial_states.view();
  views.seq_idx = operands.seq_idx.view();
  views.cu_seqlens = operands.cu_seqlens.view();
  views.out = operands.out.view();
  views.final_states = operands.final_states.view();
  views.has_silu = operands.options.has_silu;
  const int64_t batch = views.x.shape[0];
  const bool is_packed = views.cu_seqlens.present();
  problem.sizes = {.batch = batch,
                   .seqlen = views.x.shape[1],
                   .dim = views.x.shape[2],
                   .width = views.weight.shape[1],
                   .num_seqs = is_packed ? views.cu_seqlens.shape[0] - 1 : batch};
  return problem;
}

CausalConv1dUpdateProblem MakeProblem(const ConvUpdateOperands& operands) {
  CausalConv1dUpdateProblem problem;
  CausalConv1dUpdateOperands& views = problem.operands;
  views.conv_state = operands.conv_state.view();
  views.x = WithTokens(operands.x, 3);
  views.weight = operands.weight.view();
  views.bias = operands.bias.view();
  views.conv_state_indices = operands.conv_state_indices.view();
  views.cache_seqlens = operands.cache_seqlens.view();
  views.out = WithTokens(operands.out, 3);
  views.has_silu = operands.options.has_silu;
  problem.sizes = {.batch = views.x.shape[0],
                   .num_tokens = views.x.shape[1],
                   .num_slots = views.conv_state.shape[0],
                   .dim = views.x.shape[2],
                   .width = views.weight.shape[1],
                   .state_len = views.conv_state.shape[2]};
  return problem;
}

RmsNormGatedForwardProblem MakeProblem(const NormOperands& operands) {
  RmsNormGatedForwardProblem problem;
  RmsNormGatedForwardOperands& views = problem.operands;
  views.x = WithTokens(operands.x, 3);
  views.weight = operands.weight.view();
  views.bias = operands.bias.view();
  views.z = WithTokens(operands.z, 3);
  views.out = WithTokens(operands.out, 3);
  views.group_size = operands.options.group_size;
  views.eps = operands.options.eps;
  views.norm_before_gate = operands.options.norm_before_gate;
  const int64_t dim = views.x.shape[2];
  problem.sizes = {.batch = views.x.shape[0],
                   .seqlen = views.x.shape[1],
                   .dim = dim,
                   .group_size = views.group_size == 0 ? dim : views.group_size};
  return problem;
}

ConvOperands BuildOperands(const ConvCase& conv_case, Layout layout) {
  const ConvCase& c = conv_case;
  const bool is_packed = !c.cu_seqlens.empty();
  const auto num_seqs = is_packed ? static_cast<int64_t>(c.cu_seqlens.size()) - 1 : c.batch;
  const Shape as_x = {c.batch, c.seqlen, c.dim};
  const Shape as_states = {num_seqs, c.dim, c.width - 1};
  ConvOperands operands;
  operands.options.has_silu = c.has_silu;
  operands.x = Filled(c.x_dtype, as_x, layout, c.x);
  operands.weight = Filled(c.weight_dtype, {c.dim, c.width}, layout, c.weight);
  operands.bias = Filled(c.weight_dtype, {c.dim}, layout, c.bias);
  operands.initial_states = Filled(c.initial_states_dtype, as_states, layout, c.initial_states);
  operands.seq_idx = Listed(DType::kInt32, {c.batch, c.seqlen}, layout, c.seq_idx);
  operands.cu_seqlens = Listed(c.cu_seqlens_dtype, {num_seqs + 1}, layout, c.cu_seqlens);
  operands.out = HostTensor(c.x_dtype, as_x, layout);
  if (c.has_final_states) {
    operands.final_states = HostTensor(c.final_states_dtype, as_states, layout);
  }
  return operands;
}

ConvUpdateOperands BuildOperands(const ConvUpdateCase& update_case, Layout layout) {
  const ConvUpdateCase& c = update_case;
  const Shape as_x = c.num_tokens > 0 ? Shape{c.batch, c.num_tokens, c.dim} : Shape{c.batch, c.dim};
  const int64_t num_slots = c.num_slots == 0 ? c.batch : c.num_slots;
  ConvUpdateOperands operands;
  operands.options.has_silu = c.has_silu;
  operands.conv_state =
      Filled(c.conv_state_dtype, {num_slots, c.dim, c.state_len}, layout, c.conv_state);
  operands.x = Filled(c.x_dtype, as_x, layout, c.x);
  operands.weight = Filled(c.weight_dtype, {c.dim, c.width}, layout, c.weight);
  operands.bias = Filled(c.weight_dtype, {c.dim}, layout, c.bias);
  operands.conv_state_indices =
      Listed(c.conv_state_indices_dtype, {c.batch}, layout, c.conv_state_indices);
  operands.cache_seqlens = Listed(DType::kInt32, {c.batch}, layout, c.cache_seqlens);
  operands.out = HostTensor(c.out_dtype, as_x, layout);
  return operands;
}

NormOperands BuildOperands(const NormCase& norm_case, Layout layout) {
  const NormCase& c = norm_case;
  const Shape as_x = c.seqlen > 0 ? Shape{c.batch, c.seqlen, c.dim} : Shape{c.batch, c.dim};
  NormOperands operands;
  operands.options.group_size = c.group_size;
  operands.options.eps = c.eps;
  operands.options.norm_before_gate = c.norm_before_gate;
  operands.x = Filled(c.x_dtype, as_x, layout, c.x);
  operands.weight = Filled(c.weight_dtype, {c.dim}, layout, c.weight);
  operands.bias = Filled(c.weight_dtype, {c.dim}, layout, c.bias);
  operands.z = Filled(c.z_dtype, as_x, layout, c.z);
  operands.out = HostTensor(c.out_dtype, as_x, layout);
  return operands;
}

}  // namespace tilescan::testing
