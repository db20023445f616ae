// The CPU's kernels as rows for the planner: each algorithm once for each instruction set.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/check_indices.h"
#include "core/float64.h"
#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/state_step.h"
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
  // Vectors of the product loops per element: time falls with the width.
  static double Cost(const ScanForwardProblem&, const DeviceFacts&) {
    return 1.0 / static_cast<double>(Steps().shape(1, 1, 1).padded_headdim);
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

template <size_t kIdx>
struct StepRowOf {
  static const StateStepSteps& Steps() { return AllStateStepSteps()[kIdx]; }

  static std::string ReasonAgainst(const StateUpdateProblem& problem, const DeviceFacts& facts) {
    const std::string reason = ReasonAgainstInstructionSet(Steps().instruction_set, facts);
    return reason.empty() ? ReasonAgainstFloat64(problem.operands.x) : reason;
  }
  static double Cost(const StateUpdateProblem&, const DeviceFacts&) {
    return 1.0 / static_cast<double>(Steps().shape(1, 1, 1, 1).padded_dstate);
  }
  static int64_t ChooseChunkSize(const StateUpdateProblem&, const DeviceFacts&, int64_t) {
    return 0;
  }
  static size_t WorkspaceBytes(const StateUpdateProblem& problem, const Schedule& schedule) {
    return StateUpdateWorkspaceBytes(problem, Steps(), schedule);
  }
  static Status Run(const StateUpdateProblem& problem, const Launch& launch) {
    TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
    StateUpdate(problem, Steps(), launch);
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

constexpr size_t kMostInstructionSets = 4;

template <size_t... kIdx>
std::vector<ScanForwardVariant> MakeScanVariants(std::index_sequence<kIdx...>) {
  std::vector<ScanForwardVariant> rows;
  const size_t count = AllScanChunkSteps().size();
  ((kIdx < count ? rows.push_back(MakeVariant<ScanForwardProblem, ScanRowOf<kIdx>>("chunked_fma"))
                 : void()),
   ...);
  return rows;
}

template <size_t... kIdx>
std::vector<StateUpdateVariant> MakeStepVariants(std::index_sequence<kIdx...>) {
  std::vector<StateUpdateVariant> rows;
  const size_t count = AllStateStepSteps().size();
  ((kIdx < count ? rows.push_back(MakeVariant<StateUpdateProblem, StepRowOf<kIdx>>("step_fma"))
                 : void()),
   ...);
  return rows;
}

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() {
  static const auto rows = MakeScanVariants(std::make_index_sequence<kMostInstructionSets>());
  return rows;
}

std::span<const StateUpdateVariant> StateUpdateVariants() {
  static const auto rows = MakeStepVariants(std::make_index_sequence<kMostInstructionSets>());
  return rows;
}

}  // namespace tilescan::cpu
