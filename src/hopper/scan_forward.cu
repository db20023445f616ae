// Launches the streaming scan: CB of all chunks, then, where the plan asks for it, the states
// between pieces, then out and the final states.
#include "hopper/scan_forward.h"

#include <cstdint>

#include "core/workspace.h"
#include "cuda/error.h"
#include "hopper/masked_cb.h"
#include "hopper/scan_kernel.cuh"
#include "hopper/tensor_maps.h"

namespace tilescan::hopper {
namespace {

using OutConfig = ScanConfig<kScanHeaddim, kScanDstate, false, ScanPass::kOut>;
using GatedOutConfig = ScanConfig<kScanHeaddim, kScanDstate, true, ScanPass::kOut>;
using StatesConfig = ScanConfig<kScanHeaddim, kScanDstate, false, ScanPass::kStates>;

ScanPlan PlanOf(const ScanSizes& sizes, int num_multiprocessors) {
  const int64_t group_heads = sizes.nheads / sizes.ngroups;
  const int64_t group_blocks = (group_heads + kBlockHeads - 1) / kBlockHeads;
  const int64_t nchunks = (sizes.seqlen + kChunkSize - 1) / kChunkSize;
  return PlanScan(static_cast<int32_t>(sizes.batch * sizes.ngroups * group_blocks),
                  static_cast<int32_t>(nchunks), num_multiprocessors);
}

struct Buffers {
  uint16_t* CB = nullptr;  // bf16
  float* slot_states = nullptr;
  float* slot_decays = nullptr;
  uint32_t* slot_flags = nullptr;
};

int32_t NumSlotHeads(const ScanPlan& plan) { return plan.num_slots() * kBlockHeads; }

Buffers CarveBuffers(const ScanSizes& sizes, const ScanPlan& plan, Carver& carver) {
  Buffers buffers;
  buffers.CB = carver.Take<uint16_t>(NumCBTiles(sizes), kChunkSize * kChunkSize);
  buffers.slot_states = carver.Take<float>(NumSlotHeads(plan), kScanHeaddim * kScanDstate);
  buffers.slot_decays = carver.Take<float>(NumSlotHeads(plan));
  buffers.slot_flags = carver.Take<uint32_t>(NumSlotHeads(plan));
  return buffers;
}

Status MapOperands(const ScanForwardProblem& problem, const Buffers& buffers,
                   ScanTensorMaps* maps) {
  const ScanForwardOperands& operands = problem.operands;
  TILESCAN_RETURN_IF_ERROR(MapTiles("x", operands.x, kBlockHeads, &maps->x));
  TILESCAN_RETURN_IF_ERROR(MapTiles("B", operands.B, 1, &maps->B));
  TILESCAN_RETURN_IF_ERROR(MapTiles("C", operands.C, 1, &maps->C));
  TILESCAN_RETURN_IF_ERROR(MapTiles("out", operands.out, 1, &maps->out));
  if (operands.z.present()) {
    TILESCAN_RETURN_IF_ERROR(MapTiles("z", operands.z, kBlockHeads, &maps->z));
  }
  return MapDenseTiles("CB", buffers.CB, NumCBTiles(problem.sizes) * kTileRows, &maps->CB);
}

Status MakeParams(const ScanForwardProblem& problem, const ScanPlan& plan, const Buffers& buffers,
                  ScanParams* params) {
  const ScanForwardOperands& operands = problem.operands;
  TILESCAN_RETURN_IF_ERROR(MapOperands(problem, buffers, &params->maps));
  params->plan = plan;
  params->seqlen = static_cast<int32_t>(problem.sizes.seqlen);
  params->nheads = static_cast<int32_t>(problem.sizes.nheads);
  params->ngroups = static_cast<int32_t>(problem.sizes.ngroups);
  params->dt = operands.dt;
  params->A = operands.A;
  params->dt_bias = operands.dt_bias;
  params->D = operands.D;
  params->dt_options = {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max};
  params->initial_states = operands.initial_states;
  params->final_states = operands.final_states;
  params->slot_states = buffers.slot_states;
  params->slot_decays = buffers.slot_decays;
  params->slot_flags = buffers.slot_flags;
  return Status();
}

template <typename Config>
Status PrepareKernel() {
  cudaFuncAttributes attributes;
  TILESCAN_RETURN_IF_ERROR(
      cuda::StatusOf(cudaFuncGetAttributes(&attributes, ScanKernel<Config>), "scan for Hopper"));
  return cuda::StatusOf(
      cudaFuncSetAttribute(ScanKernel<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(sizeof(ScanStorage<Config>))),
      "scan for Hopper");
}

// waits: blocks wait for each other's states, so all of them must run at the same time. The launch
// is cooperative then: it fails where that cannot be.
template <typename Config>
Status LaunchKernel(const ScanParams& params, int32_t num_blocks, bool waits, cudaStream_t stream) {
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(num_blocks));
  config.blockDim = dim3(kScanThreads);
  config.dynamicSmemBytes = sizeof(ScanStorage<Config>);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = waits ? 1 : 0;
  return cuda::StatusOf(cudaLaunchKernelEx(&config, ScanKernel<Config>, params), "scan for Hopper");
}

}  // namespace

size_t ScanWorkspaceBytes(const ScanForwardProblem& problem, int num_multiprocessors) {
  Carver carver;
  CarveBuffers(problem.sizes, PlanOf(problem.sizes, num_multiprocessors), carver);
  return carver.required_bytes();
}

Status PrepareScan(const ScanForwardProblem& problem) {
  TILESCAN_RETURN_IF_ERROR(PrepareTensorMaps());
  TILESCAN_RETURN_IF_ERROR(PrepareMaskedCB());
  TILESCAN_RETURN_IF_ERROR(PrepareKernel<StatesConfig>());
  return problem.operands.z.present() ? PrepareKernel<GatedOutConfig>()
                                      : PrepareKernel<OutConfig>();
}

Status PrepareAllScans() {
  ScanForwardProblem gated;
  gated.operands.z.dtype = DType::kBFloat16;
  TILESCAN_RETURN_IF_ERROR(PrepareScan(gated));
  return PrepareScan(ScanForwardProblem());
}

Status RunScan(const ScanForwardProblem& problem, int num_multiprocessors, void* workspace,
               cudaStream_t stream) {
  const ScanPlan plan = PlanOf(problem.sizes, num_multiprocessors);
  Carver carver(workspace);
  const Buffers buffers = CarveBuffers(problem.sizes, plan, carver);
  ScanParams params = {};
  TILESCAN_RETURN_IF_ERROR(MakeParams(problem, plan, buffers, &params));

  TILESCAN_RETURN_IF_ERROR(
      RunMaskedCB(problem, buffers.CB, buffers.slot_flags, NumSlotHeads(plan), stream));
  if (plan.num_state_workers > 0) {
    TILESCAN_RETURN_IF_ERROR(
        LaunchKernel<StatesConfig>(params, plan.num_state_workers, false, stream));
  }
  const bool waits = plan.cut == ScanCut::kHalves;
  return problem.operands.z.present()
             ? LaunchKernel<GatedOutConfig>(params, plan.num_workers, waits, stream)
             : LaunchKernel<OutConfig>(params, plan.num_workers, waits, stream);
}

}  // namespace tilescan::hopper
