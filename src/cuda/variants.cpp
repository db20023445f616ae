// The GPU's kernels as rows for the planner.
#include <array>
#include <string>

#include "cuda/state_update.h"
#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

constexpr const char* kBackend = "cuda";

std::string ReasonAgainst(const StateUpdateProblem& problem, const DeviceFacts& facts) {
  const std::string& reason = facts.cuda().reason_against;
  if (!reason.empty()) return reason;
  const StateUpdateOperands& o = problem.operands;
  for (const TensorView* view : {&o.state, &o.x, &o.dt, &o.A, &o.B, &o.C, &o.D, &o.z, &o.dt_bias}) {
    if (view->dtype == DType::kFloat64) {
      return "an operand is float64, which only the reference backend computes";
    }
  }
  return ReasonAgainstStateUpdate(problem);
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
        .takes_stream = true,
        .run =
            [](const StateUpdateProblem& problem, const Launch& launch) {
              return RunStateUpdate(problem, static_cast<cudaStream_t>(launch.stream));
            }},
};

}  // namespace

std::span<const StateUpdateVariant> StateUpdateVariants() { return kStateUpdateVariants; }

}  // namespace tilescan::cuda
