// The forms of the scan for bf16 operands in whole vectors: their workspace, and their launches in
// order.
#include <initializer_list>

#include "cuda/error.h"
#include "cuda/scan_states.h"
#include "cuda/skip_rows.h"
#include "plan/variant.h"
#include "tile/bf16_checks.h"
#include "tile/scan_forward.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int64_t kTileSize = kChunkTile;

// ---- states ----

// Memory that kernels can take as compact fp32 states.
bool IsCompact(const TensorView& view) {
  if (view.dtype != DType::kFloat32 || !view.is_aligned) return false;
  int64_t stride = 1;
  for (int dim = view.ndim - 1; dim >= 0; --dim) {
    if (view.shape[dim] != 1 && view.strides[dim] != stride) return false;
    stride *= view.shape[dim];
  }
  return true;
}

// The operand's own memory, or room for a compact copy; without the operand, `absent`: kernels make
// descriptors of all views before they know which are used, and the GPU hangs on one of null.
float* CarveStates(const TensorView& view, float* absent, Carver& carver) {
  if (!view.present()) return absent;
  if (IsCompact(view)) return static_cast<float*>(view.data);
  return carver.Take<float>(view.num_elements());
}

void CarvePieces(const ScanSizes& sizes, PieceWalk walk, Carver& carver, StageBuffers* buffers) {
  buffers->pieces = CutRows(sizes, walk, cuda::Facts().num_multiprocessors);
  if (buffers->pieces.num_pieces == 1) return;
  const int64_t num_heads = sizes.batch * buffers->pieces.num_pieces * sizes.nheads;
  buffers->piece_states = carver.Take<float>(num_heads * sizes.headdim, sizes.dstate);
  buffers->piece_exponents = carver.Take<float>(num_heads);
}

void CarveCommon(const ScanForwardProblem& problem, PieceWalk walk, Carver& carver,
                 StageBuffers* buffers) {
  const ScanForwardOperands& operands = problem.operands;
  const ScanSizes& sizes = problem.sizes;
  const int64_t num_heads = NumSlots(sizes) * sizes.nheads;
  buffers->token_rows = carver.Take<float>(num_heads, kTokenRows * kTileSize);
  buffers->chunk_decay = carver.Take<float>(num_heads);
  buffers->skip_rows = carver.Take<float>(sizes.nheads, sizes.headdim);
  buffers->must_repair =
      carver.Take<int32_t>(sizes.batch * sizes.nheads, CeilDiv(sizes.headdim, kChannels));
  float* const absent = buffers->token_rows;
  buffers->first_states = CarveStates(operands.initial_states, absent, carver);
  // final_states may lie over initial_states, which the repair reads once more.
  buffers->last_states = operands.final_states.present() && operands.initial_states.present()
                             ? carver.Take<float>(operands.final_states.num_elements())
                             : CarveStates(operands.final_states, absent, carver);
  buffers->states_out = CarveStates(operands.states_out, absent, carver);
  buffers->entry_states = absent;
  CarvePieces(sizes, walk, carver, buffers);
}

StageBuffers CarveStages(const ScanForwardProblem& problem, Carver& carver) {
  const ScanSizes& sizes = problem.sizes;
  StageBuffers buffers;
  if (sizes.seqlen == 0) return buffers;
  CarveCommon(problem, PieceWalk::kEntryStates, carver, &buffers);
  buffers.CB = carver.Take<uint16_t>(NumSlots(sizes) * sizes.ngroups, kTileSize * kTileSize);
  buffers.entry_states =
      carver.Take<uint16_t>(NumSlots(sizes) * sizes.nheads * sizes.headdim, sizes.dstate);
  return buffers;
}

StageBuffers CarveStream(const ScanForwardProblem& problem, Carver& carver) {
  StageBuffers buffers;
  if (problem.sizes.seqlen > 0) {
    CarveCommon(problem, PieceWalk::kStream, carver, &buffers);
  }
  return buffers;
}

// ---- runs ----

using CarveFunction = StageBuffers (*)(const ScanForwardProblem&, Carver&);
using StageFunction = Status (*)(const StageCall&);

size_t WorkspaceBytes(const ScanForwardProblem& problem, CarveFunction carve) {
  Carver carver;
  carve(problem, carver);
  return carver.required_bytes();
}

Status Prepare(const ScanForwardProblem& problem, std::initializer_list<StageFunction> stages) {
  TILESCAN_RETURN_IF_ERROR(cuda::LoadStateKernels());
  TILESCAN_RETURN_IF_ERROR(cuda::LoadSkipKernel());
  const StageCall call{.problem = problem, .only_loads = true};
  for (const StageFunction stage : stages) TILESCAN_RETURN_IF_ERROR(stage(call));
  return Status();
}

// One problem for each instance that the stages have.
Status PrepareAll(std::initializer_list<StageFunction> stages,
                  std::initializer_list<int64_t> dstates) {
  for (const int64_t dstate : dstates) {
    ScanForwardProblem problem;
    problem.sizes.dstate = dstate;
    TILESCAN_RETURN_IF_ERROR(Prepare(problem, stages));
    problem.operands.z.dtype = DType::kBFloat16;
    TILESCAN_RETURN_IF_ERROR(Prepare(problem, stages));
  }
  return Status();
}

Status Run(const ScanForwardProblem& problem, const Launch& launch, CarveFunction carve,
           std::initializer_list<StageFunction> stages) {
  const ScanForwardOperands& operands = problem.operands;
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  if (problem.sizes.seqlen == 0) return cuda::PassEmptyRows(problem, stream);
  cuda::ForgetEarlierError();
  Carver carver(launch.workspace);
  const StageCall call{.problem = problem,
                       .num_slots = NumSlots(problem.sizes),
                       .buffers = carve(problem, carver),
                       .stream = stream};
  const StageBuffers& buffers = call.buffers;
  if (operands.initial_states.present() && buffers.first_states != operands.initial_states.data) {
    TILESCAN_RETURN_IF_ERROR(cuda::PackStates(operands.initial_states,
                                              const_cast<float*>(buffers.first_states), stream));
  }
  TILESCAN_RETURN_IF_ERROR(cuda::WriteSkipRows(operands.D, problem.sizes.nheads,
                                               problem.sizes.headdim, buffers.skip_rows, stream));
  for (const StageFunction stage : stages) TILESCAN_RETURN_IF_ERROR(stage(call));
  if (operands.final_states.present() && buffers.last_states != operands.final_states.data) {
    TILESCAN_RETURN_IF_ERROR(
        cuda::UnpackStates(buffers.last_states, operands.final_states, stream));
  }
  if (operands.states_out.present() && buffers.states_out != operands.states_out.data) {
    TILESCAN_RETURN_IF_ERROR(cuda::UnpackStates(buffers.states_out, operands.states_out, stream));
  }
  return Status();
}

constexpr std::initializer_list<StageFunction> kStages = {
    LaunchChunkCumsum,   LaunchMultiplyCB,     LaunchPassPieces, LaunchJoinPieces,
    LaunchPassStateBf16, LaunchComputeOutBf16, LaunchRepair};
constexpr std::initializer_list<StageFunction> kStreamStages = {
    LaunchChunkCumsum, LaunchPassPieces, LaunchJoinPieces, LaunchScanStream, LaunchRepair};

// ---- rows ----

// W1 0.82 ms as a stream, W3 3.5 ms and W4 41 us; as stages W3 4.7 ms and W4 52 us, on an H200.
constexpr double kStreamCost = 2.0;
constexpr double kStagesCost = 3.0;

// What the forms have in common.
ScanForwardVariant Bf16Tiles(const char* name) {
  return {.backend = "cuda",
          .name = name,
          .instruction_set = "",
          .is_general = false,
          .choose_chunk_size = [](const ScanForwardProblem&, const DeviceFacts&,
                                  int64_t) { return kTileSize; },
          .takes_stream = true};
}

}  // namespace

ScanForwardVariant StagesTiles() {
  ScanForwardVariant row = Bf16Tiles("stages_tiles");
  row.reason_against = ReasonAgainstStagesTiles;
  row.cost = [](const ScanForwardProblem&, const DeviceFacts&) { return kStagesCost; };
  row.workspace_bytes = [](const ScanForwardProblem& problem, const Schedule&) {
    return WorkspaceBytes(problem, CarveStages);
  };
  row.prepare = [](const ScanForwardProblem& problem, const Schedule&) {
    return Prepare(problem, kStages);
  };
  row.prepare_all = [] { return PrepareAll(kStages, {64, 128, kMostStates}); };
  row.run = [](const ScanForwardProblem& problem, const Launch& launch) {
    return Run(problem, launch, CarveStages, kStages);
  };
  return row;
}

ScanForwardVariant StreamTiles() {
  ScanForwardVariant row = Bf16Tiles("stream_tiles");
  row.reason_against = ReasonAgainstStreamTiles;
  row.cost = [](const ScanForwardProblem&, const DeviceFacts&) { return kStreamCost; };
  row.workspace_bytes = [](const ScanForwardProblem& problem, const Schedule&) {
    return WorkspaceBytes(problem, CarveStream);
  };
  row.prepare = [](const ScanForwardProblem& problem, const Schedule&) {
    return Prepare(problem, kStreamStages);
  };
  row.prepare_all = [] { return PrepareAll(kStreamStages, {64, kMostStatesOfStream}); };
  row.run = [](const ScanForwardProblem& problem, const Launch& launch) {
    return Run(problem, launch, CarveStream, kStreamStages);
  };
  return row;
}

}  // namespace tilescan::tile
