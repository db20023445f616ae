// The forms of the scan for bf16 operands in whole vectors: what they take, their workspace, and
// their launches in order.
#include <initializer_list>
#include <limits>
#include <string>

#include "core/float64.h"
#include "cuda/error.h"
#include "cuda/scan_states.h"
#include "cuda/skip_rows.h"
#include "tile/scan_forward.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int64_t kTileSize = kChunkTile;
constexpr int64_t kVector = 8;  // elements
// Kernels have 32-bit indices, and where there is no TMA 32-bit offsets.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostStates = 256;
constexpr int64_t kMostStatesOfStream = 128;

struct Named {
  const char* name;
  const TensorView& view;
};

// The operand in tiles that TMA can load.
std::string ReasonAgainstRows(const Named& operand) {
  const TensorView& view = operand.view;
  const std::string name = operand.name;
  if (view.dtype != DType::kBFloat16) {
    return name + " is " + DTypeName(view.dtype) + ", expected bfloat16";
  }
  if (!view.is_aligned) return name + " is not aligned to 16 bytes";
  if (view.strides[3] != 1) return "the last dimension of " + name + " is not compact";
  int64_t last = view.shape[3] - 1;
  for (int dim = 0; dim < 3; ++dim) {
    if (view.shape[dim] <= 1) continue;
    const int64_t stride = view.strides[dim];
    if (stride <= 0 || stride % kVector != 0) {
      return "strides[" + std::to_string(dim) + "] of " + name + " is " + std::to_string(stride) +
             ", expected a positive multiple of 8";
    }
    if (stride > kMostElements || view.shape[dim] > kMostElements ||
        (last += (view.shape[dim] - 1) * stride) > kMostElements) {
      return name + " spans 2^31 elements or more";
    }
  }
  return "";
}

std::string ReasonAgainstSizes(const ScanForwardProblem& problem) {
  const ScanSizes& sizes = problem.sizes;
  if (sizes.headdim <= 0 || sizes.headdim % kVector != 0) {
    return "headdim is " + std::to_string(sizes.headdim) + ", expected a multiple of 8";
  }
  if (sizes.dstate <= 0 || sizes.dstate % kVector != 0) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected a multiple of 8";
  }
  if (sizes.dstate > kMostStates) {
    return "dstate is " + std::to_string(sizes.dstate) + ", expected at most 256";
  }
  const int64_t every = problem.operands.states_every;
  if (problem.operands.states_out.present() && every <= sizes.seqlen && every % kTileSize != 0) {
    return "states_every is " + std::to_string(every) + ", expected a multiple of 64";
  }
  return "";
}

int64_t NumSlots(const ScanSizes& sizes) { return sizes.batch * CeilDiv(sizes.seqlen, kTileSize); }

double Product(std::initializer_list<int64_t> factors) {
  double product = 1.0;
  for (const int64_t factor : factors) product *= static_cast<double>(factor);
  return product;
}

// Whether 32-bit indices reach all steps, and all states that the caller gives or asks for. With
// the reach of out, that bounds the programs too: each has its own steps, outs or states.
bool HasRoom(const ScanForwardProblem& problem) {
  constexpr double kMost = static_cast<double>(kMostElements);
  const ScanSizes& sizes = problem.sizes;
  const TensorView& states_out = problem.operands.states_out;
  return Product({NumSlots(sizes), sizes.nheads, kTokenRows * kTileSize}) <= kMost &&
         Product({NumSlots(sizes), sizes.ngroups, kTileSize, kTileSize}) <= kMost &&
         Product({sizes.batch, sizes.nheads, sizes.headdim, sizes.dstate}) <= kMost &&
         (!states_out.present() || states_out.num_elements() <= kMostElements);
}

// What stands against both forms.
std::string ReasonAgainstBf16(const ScanForwardProblem& problem) {
  const ScanForwardOperands& o = problem.operands;
  std::string reason = ReasonAgainstFloat64(o.x);
  if (reason.empty() && o.seq_idx.present()) reason = "seq_idx is present";
  if (reason.empty() && o.cu_seqlens.present()) reason = "cu_seqlens is present";
  if (reason.empty()) reason = ReasonAgainstSizes(problem);
  for (const Named& operand :
       {Named{"x", o.x}, Named{"B", o.B}, Named{"C", o.C}, Named{"z", o.z}, Named{"out", o.out}}) {
    if (reason.empty() && operand.view.present()) reason = ReasonAgainstRows(operand);
  }
  if (reason.empty() && !HasRoom(problem)) {
    reason = "there are 2^31 steps, or elements of states, or more";
  }
  return reason;
}

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

void CarveCommon(const ScanForwardProblem& problem, Carver& carver, StageBuffers* buffers) {
  const ScanForwardOperands& operands = problem.operands;
  const ScanSizes& sizes = problem.sizes;
  const int64_t num_heads = NumSlots(sizes) * sizes.nheads;
  buffers->token_rows = carver.Take<float>(num_heads, kTokenRows * kTileSize);
  buffers->chunk_decay = carver.Take<float>(num_heads);
  buffers->skip_rows = carver.Take<float>(sizes.nheads, sizes.headdim);
  buffers->CB = carver.Take<uint16_t>(NumSlots(sizes) * sizes.ngroups, kTileSize * kTileSize);
  buffers->must_repair =
      carver.Take<int32_t>(sizes.batch * sizes.nheads, CeilDiv(sizes.headdim, kChannels));
  float* const absent = buffers->token_rows;
  buffers->first_states = CarveStates(operands.initial_states, absent, carver);
  // final_states may lie over initial_states, which the repair reads once more.
  buffers->last_states = operands.final_states.present() && operands.initial_states.present()
                             ? carver.Take<float>(operands.final_states.num_elements())
                             : CarveStates(operands.final_states, absent, carver);
  buffers->states_out = CarveStates(operands.states_out, absent, carver);
}

StageBuffers CarveStages(const ScanForwardProblem& problem, Carver& carver) {
  const ScanSizes& sizes = problem.sizes;
  StageBuffers buffers;
  if (sizes.seqlen == 0) return buffers;
  CarveCommon(problem, carver, &buffers);
  buffers.entry_states =
      carver.Take<uint16_t>(NumSlots(sizes) * sizes.nheads * sizes.headdim, sizes.dstate);
  return buffers;
}

StageBuffers CarveStream(const ScanForwardProblem& problem, Carver& carver) {
  StageBuffers buffers;
  if (problem.sizes.seqlen > 0) CarveCommon(problem, carver, &buffers);
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
    LaunchChunkCumsum, LaunchMultiplyCB, LaunchPassStateBf16, LaunchComputeOutBf16, LaunchRepair};
constexpr std::initializer_list<StageFunction> kStreamStages = {LaunchChunkCumsum, LaunchMultiplyCB,
                                                                LaunchScanStream, LaunchRepair};

}  // namespace

std::string ReasonAgainstBf16Stages(const ScanForwardProblem& problem) {
  std::string reason = ReasonAgainstBf16(problem);
  if (!reason.empty()) return reason;
  const ScanSizes& sizes = problem.sizes;
  if (Product({NumSlots(sizes), sizes.nheads, sizes.headdim, sizes.dstate}) >
      static_cast<double>(kMostElements)) {
    return "the states of all chunks are 2^31 elements or more";
  }
  return "";
}

int64_t ChooseChunkSizeBf16Stages(const ScanForwardProblem&, int64_t) { return kTileSize; }

size_t WorkspaceBytesBf16Stages(const ScanForwardProblem& problem, int64_t) {
  return WorkspaceBytes(problem, CarveStages);
}

Status PrepareBf16Stages(const ScanForwardProblem& problem) { return Prepare(problem, kStages); }

Status PrepareAllBf16Stages() { return PrepareAll(kStages, {64, 128, kMostStates}); }

Status RunBf16Stages(const ScanForwardProblem& problem, const Launch& launch) {
  return Run(problem, launch, CarveStages, kStages);
}

std::string ReasonAgainstStream(const ScanForwardProblem& problem) {
  std::string reason = ReasonAgainstBf16(problem);
  if (reason.empty() && problem.operands.states_out.present()) reason = "states_out is present";
  if (reason.empty() && problem.sizes.dstate > kMostStatesOfStream) {
    reason = "dstate is " + std::to_string(problem.sizes.dstate) + ", expected at most 128";
  }
  return reason;
}

int64_t ChooseChunkSizeStream(const ScanForwardProblem&, int64_t) { return kTileSize; }

size_t WorkspaceBytesStream(const ScanForwardProblem& problem, int64_t) {
  return WorkspaceBytes(problem, CarveStream);
}

Status PrepareStream(const ScanForwardProblem& problem) { return Prepare(problem, kStreamStages); }

Status PrepareAllStreams() { return PrepareAll(kStreamStages, {64, kMostStatesOfStream}); }

Status RunStream(const ScanForwardProblem& problem, const Launch& launch) {
  return Run(problem, launch, CarveStream, kStreamStages);
}

}  // namespace tilescan::tile
