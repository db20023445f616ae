// The general form of the scan: what it takes, its workspace, and its launches in order.
#include <algorithm>
#include <string>

#include "core/float64.h"
#include "cuda/error.h"
#include "cuda/scan_chunks.h"
#include "cuda/scan_states.h"
#include "tile/scan_forward.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int64_t kTileSize = kChunkTile;
// A grid's programs, along its first dimension.
constexpr double kMostPrograms = 2147483647.0;

// At least the programs of the stage that has most. In double: sizes may be as large as they like.
double CountPrograms(const ScanForwardProblem& problem, int64_t chunk_size) {
  constexpr int64_t kSmallestSide = 16;
  const ScanSizes& sizes = problem.sizes;
  const cuda::ChunkGrid grid = cuda::MakeChunkGrid(problem, chunk_size);
  const auto as_double = [](int64_t value) { return static_cast<double>(value); };
  const double channel_tiles = as_double(CeilDiv(sizes.headdim, kSmallestSide) + 1);
  const double state_tiles = as_double(CeilDiv(sizes.dstate, kSmallestSide) + 1);
  const double num_slots = as_double(cuda::NumSlots(problem, grid));
  return as_double(sizes.nheads) * channel_tiles *
         std::max(num_slots, as_double(sizes.num_seqs) * state_tiles);
}

bool HasTokens(const ScanForwardProblem& problem) {
  return problem.sizes.seqlen > 0 && problem.sizes.num_seqs > 0;
}

StageBuffers Carve(const ScanForwardProblem& problem, const cuda::ChunkGrid& grid, Carver& carver) {
  const ScanSizes& sizes = problem.sizes;
  const ScanForwardOperands& operands = problem.operands;
  StageBuffers buffers;
  if (!HasTokens(problem)) return buffers;
  const int64_t num_slots = cuda::NumSlots(problem, grid);
  buffers.chunks = cuda::CarveChunkTable(problem, grid, carver);
  buffers.runs = cuda::CarveRunCodes(problem, num_slots, kTileSize, carver);
  buffers.token_rows = carver.Take<float>(num_slots * sizes.nheads, kTokenRows * kTileSize);
  buffers.chunk_decay = carver.Take<float>(num_slots * sizes.nheads);
  const int64_t num_state_rows = sizes.nheads * sizes.headdim;
  buffers.entry_states = carver.Take<float>(num_slots * num_state_rows, sizes.dstate);
  if (operands.final_states.present() || operands.states_out.present()) {
    buffers.last_states = carver.Take<float>(sizes.num_seqs * num_state_rows, sizes.dstate);
  }
  return buffers;
}

std::string ReasonAgainst(const ScanForwardProblem& problem, const DeviceFacts& facts) {
  if (!facts.cuda().reason_against.empty()) return facts.cuda().reason_against;
  std::string reason = ReasonAgainstFloat64(problem.operands.x);
  if (!reason.empty()) return reason;
  if (CountPrograms(problem, kTileSize) > kMostPrograms) {
    return "a grid has no room for a program a tile of each head, row and chunk";
  }
  return "";
}

int64_t ChooseChunkSize(const ScanForwardProblem& problem, const DeviceFacts&, int64_t requested) {
  int64_t chunk_size = requested == 0 ? kTileSize : std::min(requested, kTileSize);
  while (chunk_size < kTileSize && CountPrograms(problem, chunk_size) > kMostPrograms) {
    chunk_size = std::min(2 * chunk_size, kTileSize);
  }
  return chunk_size;
}

size_t WorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule) {
  Carver carver;
  Carve(problem, cuda::MakeChunkGrid(problem, schedule.chunk_size), carver);
  return carver.required_bytes();
}

Status Prepare(const ScanForwardProblem& problem, const Schedule&) {
  TILESCAN_RETURN_IF_ERROR(cuda::LoadChunkKernels());
  TILESCAN_RETURN_IF_ERROR(cuda::LoadStateKernels());
  const StageCall call{.problem = problem, .only_loads = true};
  TILESCAN_RETURN_IF_ERROR(LaunchChunkCumsum(call));
  TILESCAN_RETURN_IF_ERROR(LaunchPassStateGeneral(call));
  return LaunchComputeOutGeneral(call);
}

Status PrepareAll() {
  // One problem for each instance that DispatchGeneral() has.
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t size : {int64_t{1}, int64_t{128}}) {
      ScanForwardProblem problem;
      problem.operands.x.dtype = problem.operands.B.dtype = dtype;
      problem.sizes.headdim = problem.sizes.dstate = size;
      TILESCAN_RETURN_IF_ERROR(Prepare(problem, Schedule()));
    }
  }
  return Status();
}

Status Run(const ScanForwardProblem& problem, const Launch& launch) {
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  if (!HasTokens(problem)) return cuda::PassEmptyRows(problem, stream);
  cuda::ForgetEarlierError();
  const cuda::ChunkGrid grid = cuda::MakeChunkGrid(problem, launch.schedule.chunk_size);
  Carver carver(launch.workspace);
  const StageCall call{.problem = problem,
                       .num_slots = cuda::NumSlots(problem, grid),
                       .buffers = Carve(problem, grid, carver),
                       .stream = stream};
  const StageBuffers& buffers = call.buffers;
  const cuda::SlotStates states{static_cast<float*>(buffers.entry_states), buffers.last_states};
  TILESCAN_RETURN_IF_ERROR(cuda::WriteChunkTable(problem, grid, buffers.chunks, stream));
  TILESCAN_RETURN_IF_ERROR(cuda::WriteRunCodes(problem, call.num_slots, kTileSize, buffers.chunks,
                                               buffers.runs, stream));
  TILESCAN_RETURN_IF_ERROR(LaunchChunkCumsum(call));
  TILESCAN_RETURN_IF_ERROR(cuda::LoadInitialStates(problem, buffers.chunks, states, stream));
  TILESCAN_RETURN_IF_ERROR(LaunchPassStateGeneral(call));
  TILESCAN_RETURN_IF_ERROR(LaunchComputeOutGeneral(call));
  return cuda::StoreStates(problem, call.num_slots, buffers.chunks, states, stream);
}

}  // namespace

ScanForwardVariant GeneralTiles() {
  return {.backend = "cuda",
          .name = "general_tiles",
          .instruction_set = "",
          .reason_against = ReasonAgainst,
          // Takes everything, and what others take they do faster.
          .cost = [](const ScanForwardProblem&, const DeviceFacts&) { return 100.0; },
          .choose_chunk_size = ChooseChunkSize,
          .workspace_bytes = WorkspaceBytes,
          .prepare = Prepare,
          .prepare_all = PrepareAll,
          .takes_stream = true,
          .run = Run};
}

}  // namespace tilescan::tile
