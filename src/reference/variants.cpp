// The reference's rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "plan/variant.h"
#include "reference/causal_conv1d.h"
#include "reference/recurrence.h"
#include "reference/rms_norm_gated.h"
#include "reference/stages.h"
#include "reference/state_update.h"

namespace tilescan::reference {
namespace {

constexpr const char* kBackend = "reference";
constexpr const char* kNoInstructionSet = "";

// The reference can do everything that is valid.
template <typename Problem>
std::string NoReasonAgainst(const Problem&, const DeviceFacts&) {
  return "";
}

template <typename Problem>
int64_t NoChunkSize(const Problem&, const DeviceFacts&, int64_t) {
  return 0;
}

// Not measured: it only says that the recurrence, the definition itself, comes first.
double FirstChoice(const ScanForwardProblem&, const DeviceFacts&) { return 1.0; }
double SecondChoice(const ScanForwardProblem&, const DeviceFacts&) { return 2.0; }
template <typename Problem>
double OnlyChoice(const Problem&, const DeviceFacts&) {
  return 1.0;
}

// The upper bound keeps the workspace, which holds a chunk, within reason.
int64_t ChunkSizeOfStages(const ScanForwardProblem&, const DeviceFacts&, int64_t requested) {
  constexpr int64_t kDefault = 64;
  constexpr int64_t kMost = 4096;
  return requested == 0 ? kDefault : std::min(requested, kMost);
}

constexpr std::array kScanForwardVariants = {
    ScanForwardVariant{.backend = kBackend,
                       .name = "recurrence",
                       .instruction_set = kNoInstructionSet,
                       .reason_against = NoReasonAgainst<ScanForwardProblem>,
                       .cost = FirstChoice,
                       .choose_chunk_size = NoChunkSize<ScanForwardProblem>,
                       .workspace_bytes = RecurrenceWorkspaceBytes,
                       .prepare = nullptr,
                       .run = RunRecurrence},
    ScanForwardVariant{.backend = kBackend,
                       .name = "stages",
                       .instruction_set = kNoInstructionSet,
                       .reason_against = NoReasonAgainst<ScanForwardProblem>,
                       .cost = SecondChoice,
                       .choose_chunk_size = ChunkSizeOfStages,
                       .workspace_bytes = StagesWorkspaceBytes,
                       .prepare = nullptr,
                       .run = RunStages},
};

template <typename Problem>
size_t NoWorkspace(const Problem&, const Schedule&) {
  return 0;
}

// The only row of an operation.
template <typename Problem>
constexpr Variant<Problem> OnlyRow(const char* name,
                                   size_t (*workspace_bytes)(const Problem&, const Schedule&),
                                   Status (*run)(const Problem&, const Launch&)) {
  return {.backend = kBackend,
          .name = name,
          .instruction_set = kNoInstructionSet,
          .reason_against = NoReasonAgainst<Problem>,
          .cost = OnlyChoice<Problem>,
          .choose_chunk_size = NoChunkSize<Problem>,
          .workspace_bytes = workspace_bytes,
          .prepare = nullptr,
          .run = run};
}

constexpr std::array kStateUpdateVariants = {
    OnlyRow<StateUpdateProblem>("recurrence", StateUpdateWorkspaceBytes, RunStateUpdate)};
constexpr std::array kCausalConv1dForwardVariants = {OnlyRow<CausalConv1dForwardProblem>(
    "direct", NoWorkspace<CausalConv1dForwardProblem>, RunCausalConv1dForward)};
constexpr std::array kCausalConv1dUpdateVariants = {OnlyRow<CausalConv1dUpdateProblem>(
    "direct", NoWorkspace<CausalConv1dUpdateProblem>, RunCausalConv1dUpdate)};
constexpr std::array kRmsNormGatedForwardVariants = {OnlyRow<RmsNormGatedForwardProblem>(
    "direct", RmsNormGatedWorkspaceBytes, RunRmsNormGatedForward)};

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() { return kScanForwardVariants; }
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

}  // namespace tilescan::reference
