// The operations: each operand's name, where it stands in the caller's struct and in ours, and its
// part. The one list that reading, checking and running walk.
#ifndef TILESCAN_PLAN_OPERATION_H_
#define TILESCAN_PLAN_OPERATION_H_

#include "core/causal_conv1d.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/split_conv1d_scan.h"
#include "core/state_update.h"
#include "core/tensor_view.h"
#include "tilescan/tilescan.h"

namespace tilescan::plan {

template <typename Args, typename Operands>
struct OperandField {
  const char* name;
  tilescan_tensor Args::*described;
  TensorView Operands::*view;
  bool is_required = false;
  bool is_output = false;
  // The input whose memory an output may be, with the same dtype and strides.
  TensorView Operands::*in_place_of = nullptr;
};

constexpr bool kRequired = true;
constexpr bool kOptional = false;
constexpr bool kOutput = true;

// kName, kHasChunks, Args, Operands and kFields of the operation that a problem belongs to.
template <typename Problem>
struct Operation;

template <>
struct Operation<ScanForwardProblem> {
  static constexpr const char* kName = "scan_forward";
  static constexpr bool kHasChunks = true;  // of tokens, whose size options may choose
  using Args = tilescan_scan_forward_args;
  using Operands = ScanForwardOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"x", &Args::x, &Operands::x, kRequired},
      {"dt", &Args::dt, &Operands::dt, kRequired},
      {"A", &Args::A, &Operands::A, kRequired},
      {"B", &Args::B, &Operands::B, kRequired},
      {"C", &Args::C, &Operands::C, kRequired},
      {"D", &Args::D, &Operands::D},
      {"z", &Args::z, &Operands::z},
      {"dt_bias", &Args::dt_bias, &Operands::dt_bias},
      {"initial_states", &Args::initial_states, &Operands::initial_states},
      {"seq_idx", &Args::seq_idx, &Operands::seq_idx},
      {"cu_seqlens", &Args::cu_seqlens, &Operands::cu_seqlens},
      {"out", &Args::out, &Operands::out, kRequired, kOutput},
      {"final_states", &Args::final_states, &Operands::final_states, kOptional, kOutput,
       &Operands::initial_states},
      {"states_out", &Args::states_out, &Operands::states_out, kOptional, kOutput},
  };
};

template <>
struct Operation<StateUpdateProblem> {
  static constexpr const char* kName = "state_update";
  static constexpr bool kHasChunks = false;
  using Args = tilescan_state_update_args;
  using Operands = StateUpdateOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"state", &Args::state, &Operands::state, kRequired, kOutput},
      {"x", &Args::x, &Operands::x, kRequired},
      {"dt", &Args::dt, &Operands::dt, kRequired},
      {"A", &Args::A, &Operands::A, kRequired},
      {"B", &Args::B, &Operands::B, kRequired},
      {"C", &Args::C, &Operands::C, kRequired},
      {"D", &Args::D, &Operands::D},
      {"z", &Args::z, &Operands::z},
      {"dt_bias", &Args::dt_bias, &Operands::dt_bias},
      {"state_batch_indices", &Args::state_batch_indices, &Operands::state_batch_indices},
      {"fresh", &Args::fresh, &Operands::fresh},
      {"num_accepted", &Args::num_accepted, &Operands::num_accepted},
      {"out", &Args::out, &Operands::out, kRequired, kOutput},
  };
};

template <>
struct Operation<CausalConv1dForwardProblem> {
  static constexpr const char* kName = "causal_conv1d_forward";
  static constexpr bool kHasChunks = false;
  using Args = tilescan_causal_conv1d_forward_args;
  using Operands = CausalConv1dForwardOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"x", &Args::x, &Operands::x, kRequired},
      {"weight", &Args::weight, &Operands::weight, kRequired},
      {"bias", &Args::bias, &Operands::bias},
      {"initial_states", &Args::initial_states, &Operands::initial_states},
      {"seq_idx", &Args::seq_idx, &Operands::seq_idx},
      {"cu_seqlens", &Args::cu_seqlens, &Operands::cu_seqlens},
      {"out", &Args::out, &Operands::out, kRequired, kOutput},
      {"final_states", &Args::final_states, &Operands::final_states, kOptional, kOutput,
       &Operands::initial_states},
  };
};

template <>
struct Operation<CausalConv1dUpdateProblem> {
  static constexpr const char* kName = "causal_conv1d_update";
  static constexpr bool kHasChunks = false;
  using Args = tilescan_causal_conv1d_update_args;
  using Operands = CausalConv1dUpdateOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"conv_state", &Args::conv_state, &Operands::conv_state, kRequired, kOutput},
      {"x", &Args::x, &Operands::x, kRequired},
      {"weight", &Args::weight, &Operands::weight, kRequired},
      {"bias", &Args::bias, &Operands::bias},
      {"conv_state_indices", &Args::conv_state_indices, &Operands::conv_state_indices},
      {"cache_seqlens", &Args::cache_seqlens, &Operands::cache_seqlens},
      {"out", &Args::out, &Operands::out, kRequired, kOutput},
  };
};

template <>
struct Operation<RmsNormGatedForwardProblem> {
  static constexpr const char* kName = "rms_norm_gated_forward";
  static constexpr bool kHasChunks = false;
  using Args = tilescan_rms_norm_gated_forward_args;
  using Operands = RmsNormGatedForwardOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"x", &Args::x, &Operands::x, kRequired},
      {"weight", &Args::weight, &Operands::weight, kRequired},
      {"bias", &Args::bias, &Operands::bias},
      {"z", &Args::z, &Operands::z},
      {"out", &Args::out, &Operands::out, kRequired, kOutput, &Operands::x},
  };
};

template <>
struct Operation<SplitConv1dScanForwardProblem> {
  static constexpr const char* kName = "split_conv1d_scan_forward";
  static constexpr bool kHasChunks = true;
  using Args = tilescan_split_conv1d_scan_forward_args;
  using Operands = SplitConv1dScanForwardOperands;
  static constexpr OperandField<Args, Operands> kFields[] = {
      {"zxbcdt", &Args::zxbcdt, &Operands::zxbcdt, kRequired},
      {"conv1d_weight", &Args::conv1d_weight, &Operands::conv1d_weight, kRequired},
      {"A", &Args::A, &Operands::A, kRequired},
      {"conv1d_bias", &Args::conv1d_bias, &Operands::conv1d_bias},
      {"dt_bias", &Args::dt_bias, &Operands::dt_bias},
      {"D", &Args::D, &Operands::D},
      {"rmsnorm_weight", &Args::rmsnorm_weight, &Operands::rmsnorm_weight},
      {"initial_states", &Args::initial_states, &Operands::initial_states},
      {"conv_initial_states", &Args::conv_initial_states, &Operands::conv_initial_states},
      {"seq_idx", &Args::seq_idx, &Operands::seq_idx},
      {"cu_seqlens", &Args::cu_seqlens, &Operands::cu_seqlens},
      {"out", &Args::out, &Operands::out, kRequired, kOutput},
      {"final_states", &Args::final_states, &Operands::final_states, kOptional, kOutput,
       &Operands::initial_states},
      {"conv_final_states", &Args::conv_final_states, &Operands::conv_final_states, kOptional,
       kOutput, &Operands::conv_initial_states},
  };
};

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_OPERATION_H_
