// The GPU's kernels as rows for the planner.
#include <array>
#include <string>

#include "core/float64.h"
#include "cuda/state_update.h"
#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

constexpr const char* kBackend = "cuda";

std::string ReasonAgainst(const StateUpdateProblem& problem, const DeviceFacts& facts) {
  const std::string& reason = facts.cuda().reason_against;
  if (!reason.empty()) return reason;
  std::string against_float64 = ReasonAgainstFloat64(problem.operands.x);
  return against_float64.empty() ? ReasonAgainstStateUpdate(problem) : against_float64;
}

constexpr std::array kStateUpdateVariants = {
    StateUpdateVariant{
        .backend = kBackend,
        .name = "step",
        .instruction_set = "",
        .reason_against = ReasonAgainst,
        .cost = [](const StateUpdateProblem&, const DeviceFacts&) { return 1.0; },  // the only one
        .choose_chunk_size = [](const StateUpdateProblem&, const DeviceFacts&,
                                int64_t) { return int64_t{0}; },
        .workspace_bytes = [](const StateUpdateProblem&, const Schedule&) { return size_t{0}; },
        .prepare = [](const StateUpdateProblem& problem,
                      const Schedule&) { return PrepareStateUpdate(problem); },
        .prepare_all = PrepareAllStateUpdates,
        .takes_stream = true,
        .run =
            [](const StateUpdateProblem& problem, const Launch& launch) {
              return RunStateUpdate(problem, static_cast<cudaStream_t>(launch.stream));
            }},
};

}  // namespace

std::span<const StateUpdateVariant> StateUpdateVariants() { return kStateUpdateVariants; }

}  // namespace tilescan::cuda
