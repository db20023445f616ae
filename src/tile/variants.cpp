// The scan's tile programs as rows for the planner.
#include <array>
#include <string>

#include "plan/variant.h"
#include "tile/chunk_size.h"
#include "tile/scan_forward.h"

namespace tilescan::tile {
namespace {

std::string ReasonAgainstGpu(const DeviceFacts& facts) { return facts.cuda().reason_against; }

// Tile programs of the stream.
int64_t NumStreams(const ScanSizes& sizes) {
  constexpr int64_t channels = kChannels;
  return sizes.batch * sizes.nheads * ((sizes.headdim + channels - 1) / channels);
}

constexpr std::array kScanForwardVariants = {
    ScanForwardVariant{
        .backend = "cuda",
        .name = "stream_tiles",
        .instruction_set = "",
        .is_general = false,
        .reason_against =
            [](const ScanForwardProblem& problem, const DeviceFacts& facts) {
              const std::string reason = ReasonAgainstGpu(facts);
              return reason.empty() ? ReasonAgainstStream(problem) : reason;
            },
        // Better than the stages where there are enough streams to fill the GPU: 0.80 and 1.27 ms
        // on W1 (640 streams), 84 and 72 us on W4 (24), on an H200.
        .cost =
            [](const ScanForwardProblem& problem, const DeviceFacts& facts) {
              return NumStreams(problem.sizes) >= facts.cuda().num_multiprocessors ? 2.0 : 4.0;
            },
        .choose_chunk_size =
            [](const ScanForwardProblem& problem, const DeviceFacts&, int64_t requested) {
              return ChooseChunkSizeStream(problem, requested);
            },
        .workspace_bytes =
            [](const ScanForwardProblem& problem, const Schedule& schedule) {
              return WorkspaceBytesStream(problem, schedule.chunk_size);
            },
        .prepare = [](const ScanForwardProblem& problem,
                      const Schedule&) { return PrepareStream(problem); },
        .prepare_all = PrepareAllStreams,
        .takes_stream = true,
        .run = RunStream},
    ScanForwardVariant{
        .backend = "cuda",
        .name = "stages_tiles",
        .instruction_set = "",
        .is_general = false,
        .reason_against =
            [](const ScanForwardProblem& problem, const DeviceFacts& facts) {
              const std::string reason = ReasonAgainstGpu(facts);
              return reason.empty() ? ReasonAgainstBf16Stages(problem) : reason;
            },
        .cost = [](const ScanForwardProblem&, const DeviceFacts&) { return 3.0; },
        .choose_chunk_size =
            [](const ScanForwardProblem& problem, const DeviceFacts&, int64_t requested) {
              return ChooseChunkSizeBf16Stages(problem, requested);
            },
        .workspace_bytes =
            [](const ScanForwardProblem& problem, const Schedule& schedule) {
              return WorkspaceBytesBf16Stages(problem, schedule.chunk_size);
            },
        .prepare = [](const ScanForwardProblem& problem,
                      const Schedule&) { return PrepareBf16Stages(problem); },
        .prepare_all = PrepareAllBf16Stages,
        .takes_stream = true,
        .run = RunBf16Stages},
    ScanForwardVariant{
        .backend = "cuda",
        .name = "general_tiles",
        .instruction_set = "",
        .reason_against =
            [](const ScanForwardProblem& problem, const DeviceFacts& facts) {
              const std::string reason = ReasonAgainstGpu(facts);
              return reason.empty() ? ReasonAgainstGeneral(problem) : reason;
            },
        // Takes everything, and what others take they do faster.
        .cost = [](const ScanForwardProblem&, const DeviceFacts&) { return 100.0; },
        .choose_chunk_size =
            [](const ScanForwardProblem& problem, const DeviceFacts&, int64_t requested) {
              return ChooseChunkSizeGeneral(problem, requested);
            },
        .workspace_bytes =
            [](const ScanForwardProblem& problem, const Schedule& schedule) {
              return WorkspaceBytesGeneral(problem, schedule.chunk_size);
            },
        .prepare = [](const ScanForwardProblem& problem,
                      const Schedule&) { return PrepareGeneral(problem); },
        .prepare_all = PrepareAllGeneral,
        .takes_stream = true,
        .run = RunGeneral},
};

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() { return kScanForwardVariants; }

}  // namespace tilescan::tile
