// The reference's rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "plan/variant.h"
#include "reference/recurrence.h"
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
double OnlyChoice(const StateUpdateProblem&, const DeviceFacts&) { return 1.0; }

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

constexpr std::array kStateUpdateVariants = {
    StateUpdateVariant{.backend = kBackend,
                       .name = "recurrence",
                       .instruction_set = kNoInstructionSet,
                       .reason_against = NoReasonAgainst<StateUpdateProblem>,
                       .cost = OnlyChoice,
                       .choose_chunk_size = NoChunkSize<StateUpdateProblem>,
                       .workspace_bytes = StateUpdateWorkspaceBytes,
                       .prepare = nullptr,
                       .run = RunStateUpdate},
};

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() { return kScanForwardVariants; }
std::span<const StateUpdateVariant> StateUpdateVariants() { return kStateUpdateVariants; }

}  // namespace tilescan::reference
