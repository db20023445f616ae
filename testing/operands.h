// All operands of a call, with their memory.
#ifndef TILESCAN_TESTING_OPERANDS_H_
#define TILESCAN_TESTING_OPERANDS_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "core/causal_conv1d.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/state_update.h"
#include "testing/host_tensor.h"
#include "tilescan/tilescan.h"

namespace tilescan::testing {

// What stands beside the operands.
struct CallOptions {
  bool dt_softplus = false;
  float dt_limit[2] = {0.0f, std::numeric_limits<float>::infinity()};
  int64_t states_every = 0;  // scan_forward
  // state_update: A, dt, dt_bias and a D of (nheads) are described expanded, with stride 0 along
  // the dimensions added, as the public implementation passes them.
  bool is_expanded = false;
  bool has_silu = false;   // causal_conv1d
  int64_t group_size = 0;  // rms_norm_gated, with the two below
  float eps = 1e-5f;
  bool norm_before_gate = false;
  int64_t ngroups = 1;  // split_conv1d_scan, which has those of its parts, too
};

struct ScanOperands {
  static constexpr const char* kOperation = "scan_forward";
  using Args = tilescan_scan_forward_args;
  using Problem = ScanForwardProblem;

  HostTensor x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens;
  HostTensor out, final_states, states_out;
  CallOptions options;

  // Calls visit(name, tensor, is_output) for every operand, absent ones too, always in one order.
  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("x", operands.x, false);
    visit("dt", operands.dt, false);
    visit("A", operands.A, false);
    visit("B", operands.B, false);
    visit("C", operands.C, false);
    visit("D", operands.D, false);
    visit("z", operands.z, false);
    visit("dt_bias", operands.dt_bias, false);
    visit("initial_states", operands.initial_states, false);
    visit("seq_idx", operands.seq_idx, false);
    visit("cu_seqlens", operands.cu_seqlens, false);
    visit("out", operands.out, true);
    visit("final_states", operands.final_states, true);
    visit("states_out", operands.states_out, true);
  }
};

struct StateUpdateOperands {
  static constexpr const char* kOperation = "state_update";
  using Args = tilescan_state_update_args;
  using Problem = StateUpdateProblem;

  // state is in and out; it counts as an output here.
  HostTensor state, x, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh, num_accepted, out;
  CallOptions options;

  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("state", operands.state, true);
    visit("x", operands.x, false);
    visit("dt", operands.dt, false);
    visit("A", operands.A, false);
    visit("B", operands.B, false);
    visit("C", operands.C, false);
    visit("D", operands.D, false);
    visit("z", operands.z, false);
    visit("dt_bias", operands.dt_bias, false);
    visit("state_batch_indices", operands.state_batch_indices, false);
    visit("fresh", operands.fresh, false);
    visit("num_accepted", operands.num_accepted, false);
    visit("out", operands.out, true);
  }
};

struct ConvOperands {
  static constexpr const char* kOperation = "causal_conv1d_forward";
  using Args = tilescan_causal_conv1d_forward_args;
  using Problem = CausalConv1dForwardProblem;

  HostTensor x, weight, bias, initial_states, seq_idx, cu_seqlens;
  HostTensor out, final_states;
  CallOptions options;

  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("x", operands.x, false);
    visit("weight", operands.weight, false);
    visit("bias", operands.bias, false);
    visit("initial_states", operands.initial_states, false);
    visit("seq_idx", operands.seq_idx, false);
    visit("cu_seqlens", operands.cu_seqlens, false);
    visit("out", operands.out, true);
    visit("final_states", operands.final_states, true);
  }
};

struct ConvUpdateOperands {
  static constexpr const char* kOperation = "causal_conv1d_update";
  using Args = tilescan_causal_conv1d_update_args;
  using Problem = CausalConv1dUpdateProblem;

  // conv_state is in and out; it counts as an output here.
  HostTensor conv_state, x, weight, bias, conv_state_indices, cache_seqlens, out;
  CallOptions options;

  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("conv_state", operands.conv_state, true);
    visit("x", operands.x, false);
    visit("weight", operands.weight, false);
    visit("bias", operands.bias, false);
    visit("conv_state_indices", operands.conv_state_indices, false);
    visit("cache_seqlens", operands.cache_seqlens, false);
    visit("out", operands.out, true);
  }
};

struct NormOperands {
  static constexpr const char* kOperation = "rms_norm_gated_forward";
  using Args = tilescan_rms_norm_gated_forward_args;
  using Problem = RmsNormGatedForwardProblem;

  HostTensor x, weight, bias, z, out;
  CallOptions options;

  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("x", operands.x, false);
    visit("weight", operands.weight, false);
    visit("bias", operands.bias, false);
    visit("z", operands.z, false);
    visit("out", operands.out, true);
  }
};

struct SplitOperands {
  static constexpr const char* kOperation = "split_conv1d_scan_forward";
  using Args = tilescan_split_conv1d_scan_forward_args;

  HostTensor zxbcdt, conv1d_weight, A, conv1d_bias, dt_bias, D, rmsnorm_weight;
  HostTensor initial_states, conv_initial_states, seq_idx, cu_seqlens;
  HostTensor out, final_states, conv_final_states;
  CallOptions options;

  template <typename Operands, typename Visit>
  static void ForEach(Operands& operands, const Visit& visit) {
    visit("zxbcdt", operands.zxbcdt, false);
    visit("conv1d_weight", operands.conv1d_weight, false);
    visit("A", operands.A, false);
    visit("conv1d_bias", operands.conv1d_bias, false);
    visit("dt_bias", operands.dt_bias, false);
    visit("D", operands.D, false);
    visit("rmsnorm_weight", operands.rmsnorm_weight, false);
    visit("initial_states", operands.initial_states, false);
    visit("conv_initial_states", operands.conv_initial_states, false);
    visit("seq_idx", operands.seq_idx, false);
    visit("cu_seqlens", operands.cu_seqlens, false);
    visit("out", operands.out, true);
    visit("final_states", operands.final_states, true);
    visit("conv_final_states", operands.conv_final_states, true);
  }
};

// Whether an output holds what it is updated from.
inline bool IsUpdatedInPlace(std::string_view name) {
  return name == "state" || name == "conv_state";
}

// For the public interface. What is returned points into the tensors.
tilescan_scan_forward_args MakeArgs(const ScanOperands& operands);
tilescan_state_update_args MakeArgs(const StateUpdateOperands& operands);
tilescan_causal_conv1d_forward_args MakeArgs(const ConvOperands& operands);
tilescan_causal_conv1d_update_args MakeArgs(const ConvUpdateOperands& operands);
tilescan_rms_norm_gated_forward_args MakeArgs(const NormOperands& operands);
tilescan_split_conv1d_scan_forward_args MakeArgs(const SplitOperands& operands);

// For code on the library's own types, problems of operations by steps in their normal form. What
// is returned points into the tensors.
ScanForwardProblem MakeProblem(const ScanOperands& operands);
StateUpdateProblem MakeProblem(const StateUpdateOperands& operands);
CausalConv1dForwardProblem MakeProblem(const ConvOperands& operands);
CausalConv1dUpdateProblem MakeProblem(const ConvUpdateOperands& operands);
RmsNormGatedForwardProblem MakeProblem(const NormOperands& operands);

// The view with a token dimension, which it may lack, at position 1.
TensorView WithTokens(const HostTensor& tensor, int ndim_with_tokens);

// A copy, in which each operand becomes change(name, tensor, is_output) -> HostTensor.
template <typename Operands, typename Change>
Operands CopyOperands(const Operands& operands, const Change& change) {
  std::vector<HostTensor> changed;
  Operands::ForEach(operands, [&](const char* name, const HostTensor& tensor, bool is_output) {
    changed.push_back(change(name, tensor, is_output));
  });
  Operands copy;
  copy.options = operands.options;
  size_t next = 0;
  Operands::ForEach(copy, [&](const char*, HostTensor& tensor, bool) {
    tensor = std::move(changed[next]);
    ++next;
  });
  return copy;
}

// A copy in another layout.
template <typename Operands>
Operands WithLayout(const Operands& operands, Layout layout) {
  return CopyOperands(operands, [layout](const char*, const HostTensor& tensor, bool) {
    return WithLayout(tensor, layout);
  });
}

// A compact copy with every float operand in float64: the same problem for the reference.
template <typename Operands>
Operands InFloat64(const Operands& operands) {
  return CopyOperands(operands, [](const char*, const HostTensor& tensor, bool) {
    return WithDType(tensor, IsFloat(tensor) ? DType::kFloat64 : tensor.dtype());
  });
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_OPERANDS_H_
