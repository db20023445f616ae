// Operations of the C interface as data, so that calls are written once for all.
#ifndef TILESCAN_PYTHON_EXTENSION_OPERATION_H_
#define TILESCAN_PYTHON_EXTENSION_OPERATION_H_

#include <array>
#include <cstddef>

#include "extension/operand.h"
#include "tilescan/tilescan.h"

namespace tilescan::python {

template <typename Args>
struct Field {
  const char* name;
  tilescan_tensor Args::*member;
  Access access;
};

// What any operation takes besides its operands, in this order after them.
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
  kStatesEvery,  // the scan's from here on
  kReturnFinalStates,
  kStateDtype,
};
constexpr std::array kOptionNames = {
    "dt_softplus",         "dt_limit",    "backend",       "kernel", "instruction_set",
    "chunk_size",          "num_threads", "check_indices", "stream", "states_every",
    "return_final_states", "state_dtype"};

template <typename Args>
struct Operation;

template <>
struct Operation<tilescan_scan_forward_args> {
  using Args = tilescan_scan_forward_args;
  static constexpr const char* kName = "scan_forward";
  static constexpr const char* kPythonName = "scan";
  static constexpr size_t kNumRequired = 5;
  static constexpr size_t kNumOptions = kOptionNames.size();
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
  static constexpr size_t kNumOptions = static_cast<size_t>(Option::kStatesEvery);
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

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_OPERATION_H_
