// Operations of the C interface as data, so that calls are written once for all.
#ifndef TILESCAN_PYTHON_EXTENSION_OPERATION_H_
#define TILESCAN_PYTHON_EXTENSION_OPERATION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "extension/operand.h"
#include "tilescan/tilescan.h"

namespace tilescan::python {

template <typename Args>
struct Field {
  const char* name;
  tilescan_tensor Args::*member;
  Access access;
};

// What operations take besides their operands.
enum class Option : size_t {
  kDtSoftplus,
  kDtLimit,
  kBackend,
  kKernel,
  kInstructionSet,
  kChunkSize,
  kNumThreads,
  kCheckIndices,
  kStream,
  kStatesEvery,
  kReturnFinalStates,
  kStateDtype,
  kActivation,
  kGroupSize,
  kEps,
  kNormBeforeGate,
  kNgroups,
  kRmsnormEps,
  kReturnConvFinalStates,
};
inline constexpr std::array kOptionNames = {"dt_softplus",
                                            "dt_limit",
                                            "backend",
                                            "kernel",
                                            "instruction_set",
                                            "chunk_size",
                                            "num_threads",
                                            "check_indices",
                                            "stream",
                                            "states_every",
                                            "return_final_states",
                                            "state_dtype",
                                            "activation",
                                            "group_size",
                                            "eps",
                                            "norm_before_gate",
                                            "ngroups",
                                            "rmsnorm_eps",
                                            "return_conv_final_states"};

// An option whose value is a member of the args struct.
template <typename Args, typename Value>
struct Scalar {
  Option option;
  Value Args::*member;
};
template <typename Args, typename Value>
Scalar(Option, Value Args::*) -> Scalar<Args, Value>;

template <typename Args>
struct Operation;

template <>
struct Operation<tilescan_scan_forward_args> {
  using Args = tilescan_scan_forward_args;
  static constexpr const char* kName = "scan_forward";
  static constexpr const char* kPythonName = "scan";
  static constexpr size_t kNumRequired = 5;
  static constexpr auto kOptions = std::to_array<Option>(
      {Option::kDtSoftplus, Option::kDtLimit, Option::kBackend, Option::kKernel,
       Option::kInstructionSet, Option::kChunkSize, Option::kNumThreads, Option::kCheckIndices,
       Option::kStream, Option::kStatesEvery, Option::kReturnFinalStates, Option::kStateDtype});
  static constexpr auto kScalars = std::make_tuple(
      Scalar{Option::kDtSoftplus, &Args::dt_softplus}, Scalar{Option::kDtLimit, &Args::dt_limit},
      Scalar{Option::kStatesEvery, &Args::states_every});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"x", &Args::x, Access::kRead},
      {"dt", &Args::dt, Access::kRead},
      {"A", &Args::A, Access::kRead},
      {"B", &Args::B, Access::kRead},
      {"C", &Args::C, Access::kRead},
      {"D", &Args::D, Access::kRead},
      {"z", &Args::z, Access::kRead},
      {"dt_bias", &Args::dt_bias, Access::kRead},
      {"initial_states", &Args::initial_states, Access::kRead},
      {"seq_idx", &Args::seq_idx, Access::kRead},
      {"cu_seqlens", &Args::cu_seqlens, Access::kRead},
      {"out", &Args::out, Access::kWrite},
      {"final_states", &Args::final_states, Access::kWrite},
      {"states_out", &Args::states_out, Access::kWrite},
  });
  static constexpr size_t kXIdx = 0;
  static constexpr auto Init = tilescan_scan_forward_args_init;
  static constexpr auto Plan = tilescan_plan_scan_forward;
  static constexpr auto Run = tilescan_run_scan_forward;
};

template <>
struct Operation<tilescan_state_update_args> {
  using Args = tilescan_state_update_args;
  static constexpr const char* kName = "state_update";
  static constexpr const char* kPythonName = "state_update";
  static constexpr size_t kNumRequired = 6;
  static constexpr auto kOptions =
      std::to_array<Option>({Option::kDtSoftplus, Option::kDtLimit, Option::kBackend,
                             Option::kKernel, Option::kInstructionSet, Option::kChunkSize,
                             Option::kNumThreads, Option::kCheckIndices, Option::kStream});
  static constexpr auto kScalars = std::make_tuple(Scalar{Option::kDtSoftplus, &Args::dt_softplus},
                                                   Scalar{Option::kDtLimit, &Args::dt_limit});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"state", &Args::state, Access::kWrite},
      {"x", &Args::x, Access::kRead},
      {"dt", &Args::dt, Access::kRead},
      {"A", &Args::A, Access::kRead},
      {"B", &Args::B, Access::kRead},
      {"C", &Args::C, Access::kRead},
      {"D", &Args::D, Access::kRead},
      {"z", &Args::z, Access::kRead},
      {"dt_bias", &Args::dt_bias, Access::kRead},
      {"state_batch_indices", &Args::state_batch_indices, Access::kRead},
      {"fresh", &Args::fresh, Access::kRead},
      {"num_accepted", &Args::num_accepted, Access::kRead},
      {"out", &Args::out, Access::kWrite},
  });
  static constexpr size_t kXIdx = 1;
  static constexpr auto Init = tilescan_state_update_args_init;
  static constexpr auto Plan = tilescan_plan_state_update;
  static constexpr auto Run = tilescan_run_state_update;
};

template <>
struct Operation<tilescan_causal_conv1d_forward_args> {
  using Args = tilescan_causal_conv1d_forward_args;
  static constexpr const char* kName = "causal_conv1d_forward";
  static constexpr const char* kPythonName = "causal_conv1d_forward";
  static constexpr size_t kNumRequired = 2;
  static constexpr auto kOptions =
      std::to_array<Option>({Option::kActivation, Option::kBackend, Option::kKernel,
                             Option::kInstructionSet, Option::kNumThreads, Option::kCheckIndices,
                             Option::kStream, Option::kReturnFinalStates, Option::kStateDtype});
  static constexpr auto kScalars = std::make_tuple(Scalar{Option::kActivation, &Args::activation});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"x", &Args::x, Access::kRead},
      {"weight", &Args::weight, Access::kRead},
      {"bias", &Args::bias, Access::kRead},
      {"initial_states", &Args::initial_states, Access::kRead},
      {"seq_idx", &Args::seq_idx, Access::kRead},
      {"cu_seqlens", &Args::cu_seqlens, Access::kRead},
      {"out", &Args::out, Access::kWrite},
      {"final_states", &Args::final_states, Access::kWrite},
  });
  static constexpr size_t kXIdx = 0;
  static constexpr auto Init = tilescan_causal_conv1d_forward_args_init;
  static constexpr auto Plan = tilescan_plan_causal_conv1d_forward;
  static constexpr auto Run = tilescan_run_causal_conv1d_forward;
};

template <>
struct Operation<tilescan_causal_conv1d_update_args> {
  using Args = tilescan_causal_conv1d_update_args;
  static constexpr const char* kName = "causal_conv1d_update";
  static constexpr const char* kPythonName = "causal_conv1d_update";
  static constexpr size_t kNumRequired = 3;
  static constexpr auto kOptions = std::to_array<Option>(
      {Option::kActivation, Option::kBackend, Option::kKernel, Option::kInstructionSet,
       Option::kNumThreads, Option::kCheckIndices, Option::kStream});
  static constexpr auto kScalars = std::make_tuple(Scalar{Option::kActivation, &Args::activation});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"conv_state", &Args::conv_state, Access::kWrite},
      {"x", &Args::x, Access::kRead},
      {"weight", &Args::weight, Access::kRead},
      {"bias", &Args::bias, Access::kRead},
      {"conv_state_indices", &Args::conv_state_indices, Access::kRead},
      {"cache_seqlens", &Args::cache_seqlens, Access::kRead},
      {"out", &Args::out, Access::kWrite},
  });
  static constexpr size_t kXIdx = 1;
  static constexpr auto Init = tilescan_causal_conv1d_update_args_init;
  static constexpr auto Plan = tilescan_plan_causal_conv1d_update;
  static constexpr auto Run = tilescan_run_causal_conv1d_update;
};

template <>
struct Operation<tilescan_rms_norm_gated_forward_args> {
  using Args = tilescan_rms_norm_gated_forward_args;
  static constexpr const char* kName = "rms_norm_gated_forward";
  static constexpr const char* kPythonName = "rms_norm_gated";
  static constexpr size_t kNumRequired = 2;
  static constexpr auto kOptions = std::to_array<Option>(
      {Option::kGroupSize, Option::kEps, Option::kNormBeforeGate, Option::kBackend, Option::kKernel,
       Option::kInstructionSet, Option::kNumThreads, Option::kStream});
  static constexpr auto kScalars = std::make_tuple(
      Scalar{Option::kGroupSize, &Args::group_size}, Scalar{Option::kEps, &Args::eps},
      Scalar{Option::kNormBeforeGate, &Args::norm_before_gate});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"x", &Args::x, Access::kRead},
      {"weight", &Args::weight, Access::kRead},
      {"bias", &Args::bias, Access::kRead},
      {"z", &Args::z, Access::kRead},
      {"out", &Args::out, Access::kWrite},
  });
  static constexpr size_t kXIdx = 0;
  static constexpr auto Init = tilescan_rms_norm_gated_forward_args_init;
  static constexpr auto Plan = tilescan_plan_rms_norm_gated_forward;
  static constexpr auto Run = tilescan_run_rms_norm_gated_forward;
};

template <>
struct Operation<tilescan_split_conv1d_scan_forward_args> {
  using Args = tilescan_split_conv1d_scan_forward_args;
  static constexpr const char* kName = "split_conv1d_scan_forward";
  static constexpr const char* kPythonName = "split_conv1d_scan";
  static constexpr size_t kNumRequired = 3;
  static constexpr auto kOptions = std::to_array<Option>(
      {Option::kNgroups, Option::kGroupSize, Option::kRmsnormEps, Option::kNormBeforeGate,
       Option::kActivation, Option::kDtSoftplus, Option::kDtLimit, Option::kBackend,
       Option::kKernel, Option::kInstructionSet, Option::kChunkSize, Option::kNumThreads,
       Option::kCheckIndices, Option::kStream, Option::kReturnFinalStates, Option::kStateDtype,
       Option::kReturnConvFinalStates});
  static constexpr auto kScalars = std::make_tuple(
      Scalar{Option::kNgroups, &Args::ngroups}, Scalar{Option::kGroupSize, &Args::group_size},
      Scalar{Option::kRmsnormEps, &Args::rmsnorm_eps},
      Scalar{Option::kNormBeforeGate, &Args::norm_before_gate},
      Scalar{Option::kActivation, &Args::activation},
      Scalar{Option::kDtSoftplus, &Args::dt_softplus}, Scalar{Option::kDtLimit, &Args::dt_limit});
  static constexpr auto kFields = std::to_array<Field<Args>>({
      {"zxbcdt", &Args::zxbcdt, Access::kRead},
      {"conv1d_weight", &Args::conv1d_weight, Access::kRead},
      {"A", &Args::A, Access::kRead},
      {"conv1d_bias", &Args::conv1d_bias, Access::kRead},
      {"dt_bias", &Args::dt_bias, Access::kRead},
      {"D", &Args::D, Access::kRead},
      {"rmsnorm_weight", &Args::rmsnorm_weight, Access::kRead},
      {"initial_states", &Args::initial_states, Access::kRead},
      {"conv_initial_states", &Args::conv_initial_states, Access::kRead},
      {"seq_idx", &Args::seq_idx, Access::kRead},
      {"cu_seqlens", &Args::cu_seqlens, Access::kRead},
      {"out", &Args::out, Access::kWrite},
      {"final_states", &Args::final_states, Access::kWrite},
      {"conv_final_states", &Args::conv_final_states, Access::kWrite},
  });
  static constexpr size_t kXIdx = 0;
  static constexpr auto Init = tilescan_split_conv1d_scan_forward_args_init;
  static constexpr auto Plan = tilescan_plan_split_conv1d_scan_forward;
  static constexpr auto Run = tilescan_run_split_conv1d_scan_forward;
};

// Where an option is in the signature: fields come first. An option that an operation does not take
// is behind all of its arguments, where none is ever given.
template <typename Args>
constexpr size_t PlaceOf(Option option) {
  const auto& options = Operation<Args>::kOptions;
  return Operation<Args>::kFields.size() +
         static_cast<size_t>(std::find(options.begin(), options.end(), option) - options.begin());
}

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_OPERATION_H_
