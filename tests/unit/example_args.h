// Right arguments for tests to spoil, one thing at a time.
#ifndef TILESCAN_TESTS_UNIT_EXAMPLE_ARGS_H_
#define TILESCAN_TESTS_UNIT_EXAMPLE_ARGS_H_

#include <initializer_list>
#include <string>

#include "plan/read_args.h"
#include "plan/validate.h"
#include "plan/violations.h"
#include "tilescan/tilescan.h"

namespace tilescan::plan {

inline tilescan_tensor Described(tilescan_dtype dtype, std::initializer_list<int64_t> shape) {
  return tilescan_contiguous(nullptr, dtype, static_cast<int32_t>(shape.size()), shape.begin());
}

// batch 2, seqlen 12, nheads 6, headdim 8, ngroups 3, dstate 5; the required operands only.
inline tilescan_scan_forward_args ExampleScanForward(tilescan_dtype dtype = tilescan_float32()) {
  tilescan_scan_forward_args args = DefaultScanForwardArgs();
  args.x = Described(dtype, {2, 12, 6, 8});
  args.dt = Described(dtype, {2, 12, 6});
  args.A = Described(dtype, {6});
  args.B = Described(dtype, {2, 12, 3, 5});
  args.C = Described(dtype, {2, 12, 3, 5});
  args.out = Described(dtype, {2, 12, 6, 8});
  return args;
}

// Three packed sequences in 12 tokens, with every operand that may come with them.
inline tilescan_scan_forward_args ExamplePacked() {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (tilescan_tensor* tensor : {&args.x, &args.dt, &args.B, &args.C, &args.out}) {
    tensor->shape[0] = 1;
  }
  args.D = Described(tilescan_float32(), {6, 8});
  args.z = args.x;
  args.dt_bias = Described(tilescan_float32(), {6});
  args.cu_seqlens = Described(tilescan_int32(), {4});
  args.initial_states = Described(tilescan_float32(), {3, 6, 8, 5});
  args.final_states = Described(tilescan_float32(), {3, 6, 8, 5});
  args.states_every = 5;
  args.states_out = Described(tilescan_float32(), {1, 12 / 5 + 3, 6, 8, 5});
  return args;
}

// batch 2, nheads 6, headdim 8, ngroups 3, dstate 5; the required operands only.
inline tilescan_state_update_args ExampleStateUpdate(tilescan_dtype dtype = tilescan_float32()) {
  tilescan_state_update_args args = DefaultStateUpdateArgs();
  args.state = Described(dtype, {2, 6, 8, 5});
  args.x = Described(dtype, {2, 6, 8});
  args.dt = Described(dtype, {2, 6});
  args.A = Described(dtype, {6});
  args.B = Described(dtype, {2, 3, 5});
  args.C = Described(dtype, {2, 3, 5});
  args.out = Described(dtype, {2, 6, 8});
  return args;
}

// The same with 4 tokens and every operand; 7 slots.
inline tilescan_state_update_args ExampleStateUpdateTokens() {
  tilescan_state_update_args args = ExampleStateUpdate();
  args.state = Described(tilescan_float32(), {7, 6, 8, 5});
  args.x = Described(tilescan_float32(), {2, 4, 6, 8});
  args.dt = Described(tilescan_float32(), {2, 4, 6});
  args.B = Described(tilescan_float32(), {2, 4, 3, 5});
  args.C = Described(tilescan_float32(), {2, 4, 3, 5});
  args.D = Described(tilescan_float32(), {6});
  args.z = args.x;
  args.dt_bias = Described(tilescan_float32(), {6});
  args.state_batch_indices = Described(tilescan_int64(), {2});
  args.fresh = Described(tilescan_bool(), {2});
  args.num_accepted = Described(tilescan_int32(), {2});
  args.out = args.x;
  return args;
}

// batch 2, seqlen 12, dim 6, width 4, with every operand but cu_seqlens.
inline tilescan_causal_conv1d_forward_args ExampleConv(tilescan_dtype dtype = tilescan_float32()) {
  tilescan_causal_conv1d_forward_args args = DefaultCausalConv1dForwardArgs();
  args.x = Described(dtype, {2, 12, 6});
  args.weight = Described(dtype, {6, 4});
  args.bias = Described(dtype, {6});
  args.initial_states = Described(dtype, {2, 6, 3});
  args.seq_idx = Described(tilescan_int32(), {2, 12});
  args.out = args.x;
  args.final_states = args.initial_states;
  return args;
}

// batch 2, 3 tokens, dim 6, width 4, state_len 5, 7 slots, with every operand.
inline tilescan_causal_conv1d_update_args ExampleConvUpdate() {
  tilescan_causal_conv1d_update_args args = DefaultCausalConv1dUpdateArgs();
  args.conv_state = Described(tilescan_bfloat16(), {7, 6, 5});
  args.x = Described(tilescan_bfloat16(), {2, 3, 6});
  args.weight = Described(tilescan_float32(), {6, 4});
  args.bias = Described(tilescan_float32(), {6});
  args.conv_state_indices = Described(tilescan_int64(), {2});
  args.cache_seqlens = Described(tilescan_int32(), {2});
  args.out = args.x;
  return args;
}

// batch 2, seqlen 12, dim 6 in groups of 3, with every operand.
inline tilescan_rms_norm_gated_forward_args ExampleNorm() {
  tilescan_rms_norm_gated_forward_args args = DefaultRmsNormGatedForwardArgs();
  args.x = Described(tilescan_bfloat16(), {2, 12, 6});
  args.weight = Described(tilescan_float32(), {6});
  args.bias = Described(tilescan_float32(), {6});
  args.z = args.x;
  args.out = args.x;
  args.group_size = 3;
  return args;
}

// batch 2, seqlen 12, nheads 6, headdim 8, ngroups 3, dstate 5, width 4, with every operand but
// cu_seqlens: dim 48, conv_dim 78.
inline tilescan_split_conv1d_scan_forward_args ExampleSplit(
    tilescan_dtype dtype = tilescan_float32()) {
  tilescan_split_conv1d_scan_forward_args args = DefaultSplitConv1dScanForwardArgs();
  args.zxbcdt = Described(dtype, {2, 12, 132});
  args.conv1d_weight = Described(dtype, {78, 4});
  args.A = args.dt_bias = args.D = Described(dtype, {6});
  args.conv1d_bias = Described(dtype, {78});
  args.rmsnorm_weight = Described(dtype, {48});
  args.conv_initial_states = args.conv_final_states = Described(dtype, {2, 78, 3});
  args.initial_states = args.final_states = Described(dtype, {2, 6, 8, 5});
  args.seq_idx = Described(tilescan_int32(), {2, 12});
  args.out = Described(dtype, {2, 12, 48});
  args.ngroups = 3;
  return args;
}

// What validation says; "" when all is right.
template <typename Args>
std::string MessageFor(const char* operation, const Args& args) {
  Violations violations(operation);
  Validate(args, &violations);
  return violations.ToStatus().message();
}
inline std::string MessageFor(const tilescan_scan_forward_args& args) {
  return MessageFor("scan_forward", args);
}
inline std::string MessageFor(const tilescan_state_update_args& args) {
  return MessageFor("state_update", args);
}
inline std::string MessageFor(const tilescan_causal_conv1d_forward_args& args) {
  return MessageFor("causal_conv1d_forward", args);
}
inline std::string MessageFor(const tilescan_causal_conv1d_update_args& args) {
  return MessageFor("causal_conv1d_update", args);
}
inline std::string MessageFor(const tilescan_rms_norm_gated_forward_args& args) {
  return MessageFor("rms_norm_gated_forward", args);
}
inline std::string MessageFor(const tilescan_split_conv1d_scan_forward_args& args) {
  return MessageFor("split_conv1d_scan_forward", args);
}

}  // namespace tilescan::plan

#endif  // TILESCAN_TESTS_UNIT_EXAMPLE_ARGS_H_
