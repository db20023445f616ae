// Plans a streaming scan, describes its operands to the kernels, and enqueues them.
#include "hopper/scan_forward.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/workspace.h"
#include "hopper/masked_cb.h"
#include "hopper/scan_kernels.h"
#include "hopper/tensor_maps.h"

namespace tilescan::hopper {
namespace {

// The kernels for a problem's size.
struct KernelsOfSize {
  int64_t dstate;
  int32_t row_heads;
  Status (*prepare)(bool has_z);
  Status (*enqueue)(const ScanParams& params, bool has_z, cudaStream_t stream);
};

template <int kDstate, int kRowHeads>
constexpr KernelsOfSize kKernels = {kDstate, kRowHeads, ScanKernels<kDstate, kRowHeads>::Prepare,
                                    ScanKernels<kDstate, kRowHeads>::Enqueue};

constexpr KernelsOfSize kSizes[] = {kKernels<64, 1>,  kKernels<64, 2>,  kKernels<128, 1>,
                                    kKernels<128, 2>, kKernels<256, 1>, kKernels<256, 2>};

// Heads that a row block has rows of, at most.
int32_t NumRowHeads(const ScanSizes& sizes) { return sizes.headdim % kBlockRows == 0 ? 1 : 2; }

const KernelsOfSize& KernelsFor(const ScanSizes& sizes) {
  return *std::find_if(std::begin(kSizes), std::end(kSizes), [&](const KernelsOfSize& kernels) {
    return kernels.dstate == sizes.dstate && kernels.row_heads == NumRowHeads(sizes);
  });
}

// Row blocks of a task.
int32_t NumTaskBlocks(const ScanSizes& sizes) {
  return kRowWarpgroups / NumStateParts(sizes.dstate);
}

ScanPlan PlanOf(const ScanSizes& sizes, int num_multiprocessors) {
  const int64_t group_blocks = NumRowBlocks(sizes.nheads / sizes.ngroups, sizes.headdim);
  const int64_t task_blocks = NumTaskBlocks(sizes);
  const int64_t group_tasks = (group_blocks + task_blocks - 1) / task_blocks;
  const int64_t nchunks = (sizes.seqlen + kChunkSize - 1) / kChunkSize;
  return PlanScan(static_cast<int32_t>(sizes.batch * sizes.ngroups * group_tasks),
                  static_cast<int32_t>(nchunks), num_multiprocessors);
}

struct Buffers {
  uint16_t* CB = nullptr;  // bf16
  float* slot_states = nullptr;
  float* slot_roots = nullptr;
  uint32_t* slot_flags = nullptr;
};

int32_t NumSlotFlags(const ScanPlan& plan) { return plan.num_slots() * kRowWarpgroups; }

Buffers CarveBuffers(const ScanSizes& sizes, const ScanPlan& plan, Carver& carver) {
  Buffers buffers;
  buffers.CB = carver.Take<uint16_t>(NumCBTiles(sizes), kChunkSize * kChunkSize);
  const int64_t num_blocks = int64_t{plan.num_slots()} * NumTaskBlocks(sizes);
  buffers.slot_states = carver.Take<float>(num_blocks, kBlockRows * sizes.dstate);
  buffers.slot_roots = carver.Take<float>(num_blocks, NumRowHeads(sizes));
  buffers.slot_flags = carver.Take<uint32_t>(NumSlotFlags(plan));
  return buffers;
}

// x, z or out with its rows as dimensions (ScanTensorMaps): (batch, seqlen, row blocks, 64), or
// (batch, seqlen, ngroups, rows of a group).
TensorView RowsOf(const TensorView& view, const ScanSizes& sizes) {
  if (sizes.headdim == kBlockRows) return view;
  TensorView rows = view;
  const int64_t num_rows = sizes.nheads * sizes.headdim;
  rows.shape[3] = NumRowHeads(sizes) == 1 ? kBlockRows : num_rows / sizes.ngroups;
  rows.shape[2] = num_rows / rows.shape[3];
  rows.strides[2] = rows.shape[3];
  return rows;
}

Status MapOperands(const ScanForwardProblem& problem, const Buffers& buffers,
                   ScanTensorMaps* maps) {
  const ScanForwardOperands& operands = problem.operands;
  const ScanSizes& sizes = problem.sizes;
  const int32_t copy_blocks = NumRowHeads(sizes) == 1 ? NumTaskBlocks(sizes) : 1;
  TILESCAN_RETURN_IF_ERROR(MapTiles("x", RowsOf(operands.x, sizes), copy_blocks, &maps->x));
  TILESCAN_RETURN_IF_ERROR(MapTiles("B", operands.B, 1, &maps->B));
  TILESCAN_RETURN_IF_ERROR(MapTiles("C", operands.C, 1, &maps->C));
  TILESCAN_RETURN_IF_ERROR(MapTiles("out", RowsOf(operands.out, sizes), 1, &maps->out));
  if (operands.z.present()) {
    TILESCAN_RETURN_IF_ERROR(MapTiles("z", RowsOf(operands.z, sizes), copy_blocks, &maps->z));
  }
  return MapDenseTiles("CB", buffers.CB, NumCBTiles(sizes) * kTileRows, &maps->CB);
}

Status MakeParams(const ScanForwardProblem& problem, const ScanPlan& plan, const Buffers& buffers,
                  ScanParams* params) {
  const ScanForwardOperands& operands = problem.operands;
  TILESCAN_RETURN_IF_ERROR(MapOperands(problem, buffers, &params->maps));
  params->plan = plan;
  params->seqlen = static_cast<int32_t>(problem.sizes.seqlen);
  params->ngroups = static_cast<int32_t>(problem.sizes.ngroups);
  params->group_heads = static_cast<int32_t>(problem.sizes.nheads / problem.sizes.ngroups);
  params->headdim = static_cast<int32_t>(problem.sizes.headdim);
  params->dt = operands.dt;
  params->A = operands.A;
  params->dt_bias = operands.dt_bias;
  params->D = operands.D;
  params->dt_options = {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max};
  params->initial_states = operands.initial_states;
  params->final_states = operands.final_states;
  params->slot_states = buffers.slot_states;
  params->slot_roots = buffers.slot_roots;
  params->slot_flags = buffers.slot_flags;
  return Status();
}

}  // namespace

size_t ScanWorkspaceBytes(const ScanForwardProblem& problem, int num_multiprocessors) {
  Carver carver;
  CarveBuffers(problem.sizes, PlanOf(problem.sizes, num_multiprocessors), carver);
  return carver.required_bytes();
}

Status PrepareScan(const ScanForwardProblem& problem) {
  TILESCAN_RETURN_IF_ERROR(PrepareTensorMaps());
  TILESCAN_RETURN_IF_ERROR(PrepareMaskedCB(problem.sizes));
  return KernelsFor(problem.sizes).prepare(problem.operands.z.present());
}

Status PrepareAllScans() {
  constexpr int64_t kHeaddimOfTwoHeads = 32;
  for (const int64_t dstate : {64, 128, 256}) {
    for (const int64_t headdim : {int64_t{kBlockRows}, kHeaddimOfTwoHeads}) {
      ScanForwardProblem problem;
      problem.sizes.headdim = headdim;
      problem.sizes.dstate = dstate;
      TILESCAN_RETURN_IF_ERROR(PrepareScan(problem));
      problem.operands.z.dtype = DType::kBFloat16;
      TILESCAN_RETURN_IF_ERROR(PrepareScan(problem));
    }
  }
  return Status();
}

Status RunScan(const ScanForwardProblem& problem, int num_multiprocessors, void* workspace,
               cudaStream_t stream) {
  const ScanPlan plan = PlanOf(problem.sizes, num_multiprocessors);
  Carver carver(workspace);
  const Buffers buffers = CarveBuffers(problem.sizes, plan, carver);
  ScanParams params = {};
  TILESCAN_RETURN_IF_ERROR(MakeParams(problem, plan, buffers, &params));

  TILESCAN_RETURN_IF_ERROR(
      RunMaskedCB(problem, buffers.CB, buffers.slot_flags, NumSlotFlags(plan), stream));
  return KernelsFor(problem.sizes).enqueue(params, problem.operands.z.present(), stream);
}

}  // namespace tilescan::hopper
