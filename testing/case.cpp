#include "testing/case.h"

#include <algorithm>

namespace tilescan::testing {
namespace {

using Shape = std::vector<int64_t>;

template <typename Case>
CallOptions OptionsOf(const Case& any_case) {
  CallOptions options;
  options.dt_softplus = any_case.dt_softplus;
  std::copy_n(any_case.dt_limit, 2, options.dt_limit);
  return options;
}

}  // namespace

ScanOperands BuildOperands(const ScanCase& scan_case, Layout layout) {
  const ScanCase& c = scan_case;
  const bool is_packed = !c.cu_seqlens.empty();
  const auto num_seqs = is_packed ? static_cast<int64_t>(c.cu_seqlens.size()) - 1 : c.batch;
  const Shape as_x = {c.batch, c.seqlen, c.nheads, c.headdim};
  const Shape as_B = {c.batch, c.seqlen, c.ngroups, c.dstate};
  const Shape as_states = {num_seqs, c.nheads, c.headdim, c.dstate};
  const DType B_dtype = c.B_dtype == DType::kNone ? c.x_dtype : c.B_dtype;

  ScanOperands operands;
  operands.options = OptionsOf(c);
  operands.options.states_every = c.states_every;
  operands.x = Filled(c.x_dtype, as_x, layout, c.x);
  operands.dt = Filled(c.dt_dtype, {c.batch, c.seqlen, c.nheads}, layout, c.dt);
  operands.A = Filled(c.weight_dtype, {c.nheads}, layout, c.A);
  operands.B = Filled(B_dtype, as_B, layout, c.B);
  operands.C = Filled(B_dtype, as_B, layout, c.C);
  const Shape as_D = c.is_D_per_channel ? Shape{c.nheads, c.headdim} : Shape{c.nheads};
  operands.D = Filled(c.weight_dtype, as_D, layout, c.D);
  operands.z = Filled(c.x_dtype, as_x, layout, c.z);
  operands.dt_bias = Filled(c.weight_dtype, {c.nheads}, layout, c.dt_bias);
  operands.initial_states = Filled(c.initial_states_dtype, as_states, layout, c.initial_states);
  operands.seq_idx = Listed(DType::kInt32, {c.batch, c.seqlen}, layout, c.seq_idx);
  operands.cu_seqlens = Listed(c.cu_seqlens_dtype, {num_seqs + 1}, layout, c.cu_seqlens);
  operands.out = HostTensor(c.x_dtype, as_x, layout);
  if (c.has_final_states) {
    operands.final_states = HostTensor(c.final_states_dtype, as_states, layout);
  }
  if (c.states_every > 0) {
    const int64_t num_states = c.seqlen / c.states_every + (is_packed ? num_seqs : 0);
    operands.states_out = HostTensor(c.states_out_dtype,
                                     {c.batch, num_states, c.nheads, c.headdim, c.dstate}, layout);
  }
  return operands;
}

StateUpdateOperands BuildOperands(const StateUpdateCase& update_case, Layout layout) {
  const StateUpdateCase& c = update_case;
  const auto per_token = [&c](Shape shape) {
    if (c.num_tokens > 0) shape.insert(shape.begin() + 1, c.num_tokens);
    return shape;
  };
  const Shape as_x = per_token({c.batch, c.nheads, c.headdim});
  const Shape as_B = per_token({c.batch, c.ngroups, c.dstate});
  const int64_t num_slots = c.num_slots == 0 ? c.batch : c.num_slots;

  StateUpdateOperands operands;
  operands.options = OptionsOf(c);
  operands.options.is_expanded = c.is_expanded;
  operands.state =
      Filled(c.state_dtype, {num_slots, c.nheads, c.headdim, c.dstate}, layout, c.state);
  operands.x = Filled(c.x_dtype, as_x, layout, c.x);
  operands.dt = Filled(c.dt_dtype, per_token({c.batch, c.nheads}), layout, c.dt);
  operands.A = Filled(c.weight_dtype, {c.nheads}, layout, c.A);
  operands.B = Filled(c.B_dtype, as_B, layout, c.B);
  operands.C = Filled(c.C_dtype, as_B, layout, c.C);
  const Shape as_D = c.is_D_per_channel ? Shape{c.nheads, c.headdim} : Shape{c.nheads};
  operands.D = Filled(c.weight_dtype, as_D, layout, c.D);
  operands.z = Filled(c.z_dtype, as_x, layout, c.z);
  operands.dt_bias = Filled(c.weight_dtype, {c.nheads}, layout, c.dt_bias);
  operands.state_batch_indices =
      Listed(c.state_batch_indices_dtype, {c.batch}, layout, c.state_batch_indices);
  operands.fresh = Listed(c.fresh_dtype, {c.batch}, layout, c.fresh);
  operands.num_accepted = Listed(DType::kInt32, {c.batch}, layout, c.num_accepted);
  operands.out = HostTensor(c.out_dtype, as_x, layout);
  return operands;
}

}  // namespace tilescan::testing
