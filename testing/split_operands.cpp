// Operands of split_conv1d_scan, for the public interface, and from its cases.
#include <algorithm>

#include "testing/case.h"
#include "testing/operands.h"

namespace tilescan::testing {

tilescan_split_conv1d_scan_forward_args MakeArgs(const SplitOperands& operands) {
  tilescan_split_conv1d_scan_forward_args args;
  tilescan_split_conv1d_scan_forward_args_init(&args);
  args.zxbcdt = operands.zxbcdt.Describe();
  args.conv1d_weight = operands.conv1d_weight.Describe();
  args.A = operands.A.Describe();
  args.conv1d_bias = operands.conv1d_bias.Describe();
  args.dt_bias = operands.dt_bias.Describe();
  args.D = operands.D.Describe();
  args.rmsnorm_weight = operands.rmsnorm_weight.Describe();
  args.conv_initial_states = operands.conv_initial_states.Describe();
  args.initial_states = operands.initial_states.Describe();
  args.seq_idx = operands.seq_idx.Describe();
  args.cu_seqlens = operands.cu_seqlens.Describe();
  args.out = operands.out.Describe();
  args.conv_final_states = operands.conv_final_states.Describe();
  args.final_states = operands.final_states.Describe();
  const CallOptions& options = operands.options;
  args.ngroups = options.ngroups;
  args.group_size = options.group_size;
  args.rmsnorm_eps = options.eps;
  args.norm_before_gate = options.norm_before_gate ? 1 : 0;
  args.activation = options.has_silu ? TILESCAN_ACTIVATION_SILU : TILESCAN_ACTIVATION_NONE;
  args.dt_softplus = options.dt_softplus ? 1 : 0;
  std::copy_n(options.dt_limit, 2, args.dt_limit);
  return args;
}

SplitOperands BuildOperands(const SplitCase& split_case, Layout layout) {
  using Shape = std::vector<int64_t>;
  const SplitCase& c = split_case;
  const int64_t dim = c.nheads * c.headdim;
  const int64_t conv_dim = dim + 2 * c.ngroups * c.dstate;
  const auto num_seqs =
      c.cu_seqlens.empty() ? c.batch : static_cast<int64_t>(c.cu_seqlens.size()) - 1;
  const Shape of_conv = {num_seqs, conv_dim, c.width - 1};
  const Shape of_scan = {num_seqs, c.nheads, c.headdim, c.dstate};
  const auto weight = [&](Shape shape, const Fill& fill) {
    return Filled(c.weight_dtype, std::move(shape), layout, fill);
  };
  SplitOperands operands;
  operands.options.ngroups = c.ngroups;
  operands.options.group_size = c.group_size;
  operands.options.eps = c.eps;
  operands.options.norm_before_gate = c.norm_before_gate;
  operands.options.has_silu = c.has_silu;
  operands.options.dt_softplus = c.dt_softplus;
  std::copy_n(c.dt_limit, 2, operands.options.dt_limit);
  operands.zxbcdt =
      Filled(c.zxbcdt_dtype, {c.batch, c.seqlen, dim + conv_dim + c.nheads}, layout, c.zxbcdt);
  operands.conv1d_weight = weight({conv_dim, c.width}, c.conv1d_weight);
  operands.A = weight({c.nheads}, c.A);
  operands.conv1d_bias = weight({conv_dim}, c.conv1d_bias);
  operands.dt_bias = weight({c.nheads}, c.dt_bias);
  operands.D = weight(c.is_D_per_channel ? Shape{c.nheads, c.headdim} : Shape{c.nheads}, c.D);
  operands.rmsnorm_weight = weight({dim}, c.rmsnorm_weight);
  operands.conv_initial_states =
      Filled(c.initial_states_dtype, of_conv, layout, c.conv_initial_states);
  operands.initial_states = Filled(c.initial_states_dtype, of_scan, layout, c.initial_states);
  operands.seq_idx = Listed(DType::kInt32, {c.batch, c.seqlen}, layout, c.seq_idx);
  operands.cu_seqlens = Listed(c.cu_seqlens_dtype, {num_seqs + 1}, layout, c.cu_seqlens);
  operands.out = HostTensor(c.zxbcdt_dtype, {c.batch, c.seqlen, dim}, layout);
  if (c.has_final_states) {
    operands.conv_final_states = HostTensor(c.final_states_dtype, of_conv, layout);
    operands.final_states = HostTensor(c.final_states_dtype, of_scan, layout);
  }
  return operands;
}

}  // namespace tilescan::testing
