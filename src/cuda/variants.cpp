// The GPU's kernels as rows for the planner.
#include <array>
#include <string>

#include "core/float64.h"
#include "cuda/causal_conv1d.h"
#include "cuda/rms_norm_gated.h"
#include "cuda/state_update.h"
#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

constexpr const char* kBackend = "cuda";

std::string ReasonOf(const StateUpdateProblem& problem) {
  return ReasonAgainstStateUpdate(problem);
}
std::string ReasonOf(const CausalConv1dForwardProblem& problem) {
  return ReasonAgainstCausalConv1d(problem);
}
std::string ReasonOf(const CausalConv1dUpdateProblem& problem) {
  return ReasonAgainstCausalConv1d(problem);
}
std::string ReasonOf(const RmsNormGatedForwardProblem& problem) {
  return ReasonAgainstRmsNormGated(problem);
}

template <typename Problem>
std::string ReasonAgainst(const Problem& problem, const DeviceFacts& facts) {
  const std::string& reason = facts.cuda().reason_against;
  if (!reason.empty()) return reason;
  std::string against_float64 = ReasonAgainstFloat64(problem.operands.x);
  return against_float64.empty() ? ReasonOf(problem) : against_float64;
}

// The only row of an operation, without chunks and without a workspace.
template <typename Problem>
constexpr Variant<Problem> OnlyRow(const char* name,
                                   Status (*prepare)(const Problem&, const Schedule&),
                                   Status (*prepare_all)(),
                                   Status (*run)(const Problem&, const Launch&)) {
  return {
      .backend = kBackend,
      .name = name,
      .instruction_set = "",
      .reason_against = ReasonAgainst<Problem>,
      .cost = [](const Problem&, const DeviceFacts&) { return 1.0; },
      .choose_chunk_size = [](const Problem&, const DeviceFacts&, int64_t) { return int64_t{0}; },
      .workspace_bytes = [](const Problem&, const Schedule&) { return size_t{0}; },
      .prepare = prepare,
      .prepare_all = prepare_all,
      .takes_stream = true,
      .run = run};
}

cudaStream_t StreamOf(const Launch& launch) { return static_cast<cudaStream_t>(launch.stream); }

constexpr std::array kStateUpdateVariants = {OnlyRow<StateUpdateProblem>(
    "step",
    [](const StateUpdateProblem& problem, const Schedule&) { return PrepareStateUpdate(problem); },
    PrepareAllStateUpdates,
    [](const StateUpdateProblem& problem, const Launch& launch) {
      return RunStateUpdate(problem, StreamOf(launch));
    })};

constexpr std::array kCausalConv1dForwardVariants = {OnlyRow<CausalConv1dForwardProblem>(
    "direct",
    [](const CausalConv1dForwardProblem&, const Schedule&) { return PrepareCausalConv1dForward(); },
    PrepareCausalConv1dForward,
    [](const CausalConv1dForwardProblem& problem, const Launch& launch) {
      return RunCausalConv1dForward(problem, Facts().num_multiprocessors, StreamOf(launch));
    })};

constexpr std::array kCausalConv1dUpdateVariants = {OnlyRow<CausalConv1dUpdateProblem>(
    "direct",
    [](const CausalConv1dUpdateProblem&, const Schedule&) { return PrepareCausalConv1dUpdate(); },
    PrepareCausalConv1dUpdate,
    [](const CausalConv1dUpdateProblem& problem, const Launch& launch) {
      return RunCausalConv1dUpdate(problem, StreamOf(launch));
    })};

constexpr std::array kRmsNormGatedForwardVariants = {OnlyRow<RmsNormGatedForwardProblem>(
    "direct",
    [](const RmsNormGatedForwardProblem&, const Schedule&) { return PrepareRmsNormGatedForward(); },
    PrepareRmsNormGatedForward,
    [](const RmsNormGatedForwardProblem& problem, const Launch& launch) {
      return RunRmsNormGatedForward(problem, StreamOf(launch));
    })};

}  // namespace

std::span<const StateUpdateVariant> StateUpdateVariants() { return kStateUpdateVariants; }
std::span<const CausalConv1dForwardVariant> CausalConv1dForwardVariants() {
  return kCausalConv1dForwardVariants;
}
std::span<const CausalConv1dUpdateVariant> CausalConv1dUpdateVariants() {
  return kCausalConv1dUpdateVariants;
}
std::span<const RmsNormGatedForwardVariant> RmsNormGatedForwardVariants() {
  return kRmsNormGatedForwardVariants;
}

}  // namespace tilescan::cuda
