// The CPU's kernels as rows for the planner: each algorithm once for each instruction set.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/check_indices.h"
#include "core/float64.h"
#include "cpu/causal_conv1d.h"
#include "cpu/kernels/conv_window.h"
#include "cpu/kernels/norm_group.h"
#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/state_step.h"
#include "cpu/rms_norm_gated.h"
#include "cpu/scan_amx.h"
#include "cpu/scan_costs.h"
#include "cpu/scan_forward.h"
#include "cpu/state_update.h"
#include "cpu/thread_pool.h"
#include "plan/variant.h"

namespace tilescan::cpu {
namespace {

std::string ReasonAgainstInstructionSet(const char* instruction_set, const DeviceFacts& facts) {
  for (const InstructionSet& known : facts.cpu.instruction_sets) {
    if (known.name == instruction_set) {
      return known.available ? "" : "this machine has no " + known.name;
    }
  }
  return std::string("this build has no ") + instruction_set;
}

// A row's functions have no context: the index of the instruction set is a template argument.
template <size_t kIdx>
struct ScanRowOf {
  static const ScanChunkSteps& Steps() { return AllScanChunkSteps()[kIdx]; }

  static std::string ReasonAgainst(const ScanForwardProblem& problem, const DeviceFacts& facts) {
    const std::string reason = ReasonAgainstInstructionSet(Steps().instruction_set, facts);
    return reason.empty() ? ReasonAgainstFloat64(problem.operands.x) : reason;
  }
  static double Cost(const ScanForwardProblem&, const DeviceFacts&) {
    return CostOfScan("chunked_fma", Steps().instruction_set);
  }
  // Small chunks reload the state more often, large ones have more pairs of tokens; from 24 to 64
  // the difference was below the noise (docs/performance.md). Beyond 512 the pairs of a chunk no
  // longer fit any cache.
  static int64_t ChooseChunkSize(const ScanForwardProblem&, const DeviceFacts&, int64_t requested) {
    constexpr int64_t kDefault = 48;
    constexpr int64_t kMost = 512;
    return requested == 0 ? kDefault : std::min(requested, kMost);
  }
  static size_t WorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule) {
    return MakeScanSetup(problem, Steps(), schedule).WorkspaceBytes();
  }
  static Status Run(const ScanForwardProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    const ScanSetup setup = MakeScanSetup(problem, Steps(), launch.schedule);
    if (setup.cut.by_chunks) {
      ScanByChunks(setup, launch.workspace);
    } else {
      ScanByHeads(setup, launch.workspace);
    }
    return Status();
  }
};

constexpr const char* kEmulatedName = "chunked_amx_emulated";

// The scan on a matrix unit, the machine's or one in software.
template <size_t kIdx>
struct ScanAmxRowOf {
  static const ScanAmxSteps& Steps() { return AllScanAmxSteps()[kIdx]; }

  static std::string ReasonAgainst(const ScanForwardProblem& problem, const DeviceFacts& facts) {
    std::string reason = ReasonAgainstInstructionSet(Steps().instruction_set, facts);
    if (!reason.empty()) return reason;
    if (!Steps().is_emulated && !facts.cpu.reason_against_amx.empty()) {
      return facts.cpu.reason_against_amx;
    }
    return ReasonAgainstMatrixUnit(problem);
  }
  static const char* Name() { return Steps().is_emulated ? kEmulatedName : "chunked_amx"; }

  static double Cost(const ScanForwardProblem&, const DeviceFacts&) {
    return CostOfScan(Name(), Steps().instruction_set);
  }
  static int64_t ChooseChunkSize(const ScanForwardProblem&, const DeviceFacts&, int64_t requested) {
    constexpr int64_t kDefault = 64;
    constexpr int64_t kUnit = 32;
    constexpr int64_t kMost = 256;
    if (requested == 0) return kDefault;
    return (std::min(requested, kMost) + kUnit - 1) / kUnit * kUnit;
  }
  static size_t WorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule) {
    return ScanAmxWorkspaceBytes(problem, Steps(), schedule);
  }
  static Status Run(const ScanForwardProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    ScanOnMatrixUnit(problem, Steps(), launch);
    return Status();
  }
};

// What the rows of operations without chunks have in common. AllSteps gives the tables of all
// instruction sets.
template <auto AllSteps, size_t kIdx>
struct RowWithoutChunks {
  static const auto& Steps() { return AllSteps()[kIdx]; }

  template <typename Problem>
  static std::string ReasonAgainst(const Problem& problem, const DeviceFacts& facts) {
    const std::string reason = ReasonAgainstInstructionSet(Steps().instruction_set, facts);
    return reason.empty() ? ReasonAgainstFloat64(problem.operands.x) : reason;
  }
  // Time falls with the width of vectors.
  template <typename Problem>
  static double Cost(const Problem&, const DeviceFacts&) {
    return 1.0 / static_cast<double>(Steps().num_lanes);
  }
  template <typename Problem>
  static int64_t ChooseChunkSize(const Problem&, const DeviceFacts&, int64_t) {
    return 0;
  }
};

template <size_t kIdx>
struct StepRowOf : RowWithoutChunks<&AllStateStepSteps, kIdx> {
  static size_t WorkspaceBytes(const StateUpdateProblem& problem, const Schedule& schedule) {
    return StateUpdateWorkspaceBytes(problem, StepRowOf::Steps(), schedule);
  }
  static Status Run(const StateUpdateProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    StateUpdate(problem, StepRowOf::Steps(), launch);
    return Status();
  }
};

template <size_t kIdx>
struct ConvRowOf : RowWithoutChunks<&AllConvWindowSteps, kIdx> {
  template <typename Problem>
  static size_t WorkspaceBytes(const Problem&, const Schedule& schedule) {
    return CausalConv1dWorkspaceBytes(schedule);
  }
  static Status Run(const CausalConv1dForwardProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    CausalConv1dForward(problem, ConvRowOf::Steps(), launch);
    return Status();
  }
  static Status Run(const CausalConv1dUpdateProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    CausalConv1dUpdate(problem, ConvRowOf::Steps(), launch);
    return Status();
  }
};

template <size_t kIdx>
struct NormRowOf : RowWithoutChunks<&AllNormGroupSteps, kIdx> {
  static size_t WorkspaceBytes(const RmsNormGatedForwardProblem& problem,
                               const Schedule& schedule) {
    return RmsNormGatedWorkspaceBytes(problem, schedule);
  }
  static Status Run(const RmsNormGatedForwardProblem& problem, const Launch& launch) {
    RmsNormGatedForward(problem, NormRowOf::Steps(), launch);
    return Status();
  }
};

template <typename Problem, typename Row>
Variant<Problem> MakeVariant(const char* name) {
  Variant<Problem> variant;
  variant.backend = "cpu";
  variant.name = name;
  variant.instruction_set = Row::Steps().instruction_set;
  variant.reason_against = &Row::ReasonAgainst;
  variant.cost = &Row::Cost;
  variant.choose_chunk_size = &Row::ChooseChunkSize;
  variant.workspace_bytes = &Row::WorkspaceBytes;
  variant.prepare = [](const Problem&, const Schedule& schedule) {
    return schedule.executor != nullptr ? Status() : StartThreads(schedule.num_threads);
  };
  variant.run = &Row::Run;
  return variant;
}

constexpr size_t kMostInstructionSets = 5;

// The row of a kernel, once for each of `count` instruction sets.
template <typename Problem, template <size_t> typename RowOf, size_t... kIdx>
std::vector<Variant<Problem>> MakeVariants(const char* name, size_t count,
                                           std::index_sequence<kIdx...>) {
  std::vector<Variant<Problem>> rows;
  ((kIdx < count ? rows.push_back(MakeVariant<Problem, RowOf<kIdx>>(name)) : void()), ...);
  return rows;
}

template <typename Problem, template <size_t> typename RowOf>
std::vector<Variant<Problem>> MakeVariants(const char* name, size_t count) {
  return MakeVariants<Problem, RowOf>(name, count,
                                      std::make_index_sequence<kMostInstructionSets>());
}

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() {
  static const auto rows = [] {
    auto made =
        MakeVariants<ScanForwardProblem, ScanRowOf>("chunked_fma", AllScanChunkSteps().size());
    auto on_matrix_unit =
        MakeVariants<ScanForwardProblem, ScanAmxRowOf>("chunked_amx", AllScanAmxSteps().size());
    for (size_t idx = 0; idx < on_matrix_unit.size(); ++idx) {
      on_matrix_unit[idx].is_general = false;
      if (AllScanAmxSteps()[idx].is_emulated) on_matrix_unit[idx].name = kEmulatedName;
      made.push_back(on_matrix_unit[idx]);
    }
    return made;
  }();
  return rows;
}

std::span<const StateUpdateVariant> StateUpdateVariants() {
  static const auto rows =
      MakeVariants<StateUpdateProblem, StepRowOf>("step_fma", AllStateStepSteps().size());
  return rows;
}

std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants() {
  static const auto rows =
      MakeVariants<CausalConv1dForwardProblem, ConvRowOf>("direct", AllConvWindowSteps().size());
  return rows;
}

std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants() {
  static const auto rows =
      MakeVariants<CausalConv1dUpdateProblem, ConvRowOf>("direct", AllConvWindowSteps().size());
  return rows;
}

std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants() {
  static const auto rows =
      MakeVariants<RmsNormGatedForwardProblem, NormRowOf>("direct", AllNormGroupSteps().size());
  return rows;
}

}  // namespace tilescan::cpu
