// The streaming scan as a row for the planner.
#include <array>
#include <string>

#include "hopper/scan_config.h"
#include "hopper/scan_forward.h"
#include "plan/variant.h"

namespace tilescan::hopper {
namespace {

std::string ReasonAgainst(const ScanForwardProblem& problem, const DeviceFacts& facts) {
  const CudaFacts& gpu = facts.cuda();
  if (!gpu.reason_against.empty()) return gpu.reason_against;
  if (gpu.compute_capability != 90) {
    return gpu.name + " has compute capability " + std::to_string(gpu.compute_capability / 10) +
           "." + std::to_string(gpu.compute_capability % 10) + ", expected 9.0";
  }
  return ReasonAgainstScan(problem);
}

Status PrepareAll() {
  return cuda::Facts().compute_capability == 90 ? PrepareAllScans() : Status();
}

constexpr std::array kScanForwardVariants = {
    ScanForwardVariant{.backend = "cuda",
                       .name = "stream_wgmma",
                       .instruction_set = "",
                       .is_general = false,
                       .reason_against = ReasonAgainst,
                       // What it takes, it does several times faster than the tile programs.
                       .cost = [](const ScanForwardProblem&, const DeviceFacts&) { return 1.0; },
                       .choose_chunk_size = [](const ScanForwardProblem&, const DeviceFacts&,
                                               int64_t) { return int64_t{kChunkSize}; },
                       .workspace_bytes =
                           [](const ScanForwardProblem& problem, const Schedule&) {
                             return ScanWorkspaceBytes(problem, cuda::Facts().num_multiprocessors);
                           },
                       .prepare = [](const ScanForwardProblem& problem,
                                     const Schedule&) { return PrepareScan(problem); },
                       .prepare_all = PrepareAll,
                       .takes_stream = true,
                       .run =
                           [](const ScanForwardProblem& problem, const Launch& launch) {
                             return RunScan(problem, cuda::Facts().num_multiprocessors,
                                            launch.workspace,
                                            static_cast<cudaStream_t>(launch.stream));
                           }},
};

}  // namespace

std::span<const ScanForwardVariant> ScanForwardVariants() { return kScanForwardVariants; }

}  // namespace tilescan::hopper
