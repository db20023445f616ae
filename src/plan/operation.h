// The operations: each operand's name, where it stands in the caller's struct and in ours, and its
// part. The one list that reading, checking and running walk.
#ifndef TILESCAN_PLAN_OPERATION_H_
#define TILESCAN_PLAN_OPERATION_H_

#include "core/scan_forward.h"
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

// kName, Args, Operands and kFields of the operation that a problem belongs to.
template <typename Problem>
struct Operation;

template <>
struct Operation<ScanForwardProblem> {
  static constexpr const char* kName = "scan_forward";
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

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_OPERATION_H_
