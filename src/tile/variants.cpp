// The scan's tile programs as a row for the planner.
#include <array>
#include <string>

#include "plan/variant.h"
#include "tile/scan_forward.h"

namespace tilescan::tile {
namespace {

constexpr std::array kScanForwardVariants = {
    ScanForwardVariant{
        .backend = "cuda",
        .name = "stages_tiles",
        .instruction_set = "",
        .reason_against =
            [](const ScanForwardProblem& problem, const DeviceFacts& facts) {
              const std::string& reason = facts.cuda().reason_against;
              return reason.empty() ? ReasonAgainstScan(problem) : reason;
            },
        // Takes everything, and what others take they do faster.
        .cost = [](const ScanForwardProblem&, const DeviceFacts&) { return 100.0; },
        .choose_chunk_size = [](const ScanForwardProblem& problem, const DeviceFacts&,
                                int64_t requested) { return ChooseChunkSize(problem, requested); },
        .workspace_bytes =
            [](const ScanForwardProblem& problem, const Schedule& schedule) {
              return ScanWorkspaceBytes(problem, schedule.chunk_size);
            },
        .prepare = [](const ScanForwardProblem& problem,
                      const Schedule&) { return PrepareScan(problem); },
        .prepare_all = PrepareAllScans,
        .takes_stream = true,
        .run = RunScan},
};

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() { return kScanForwardVariants; }

}  // namespace tilescan::tile
