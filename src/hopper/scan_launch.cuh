// Launches the kernels of the streaming scan.
#ifndef TILESCAN_HOPPER_SCAN_LAUNCH_CUH_
#define TILESCAN_HOPPER_SCAN_LAUNCH_CUH_

#include <cstdint>

#include "cuda/launch.cuh"
#include "hopper/scan_join.cuh"
#include "hopper/scan_kernel.cuh"
#include "hopper/scan_kernels.h"

namespace tilescan::hopper {

inline constexpr char kScanName[] = "scan for Hopper";

template <typename Config>
Status PrepareKernel() {
  TILESCAN_RETURN_IF_ERROR(cuda::LoadKernel(kScanName, ScanKernel<Config>));
  return cuda::StatusOf(
      cudaFuncSetAttribute(ScanKernel<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(sizeof(ScanStorage<Config>))),
      kScanName);
}

// waits: blocks wait for each other's states, so all of them must run at the same time.
template <typename Config>
Status LaunchScan(const ScanParams& params, int32_t num_blocks, bool waits, cudaStream_t stream) {
  const cuda::LaunchShape shape = {.grid = dim3(static_cast<unsigned>(num_blocks)),
                                   .num_threads = kScanThreads,
                                   .shared_bytes = sizeof(ScanStorage<Config>),
                                   .stream = stream,
                                   .is_cooperative = waits,
                                   .starts_early = !waits};
  return cuda::LaunchKernel(kScanName, ScanKernel<Config>, shape, params);
}

template <typename Config>
Status LaunchJoin(const ScanParams& params, cudaStream_t stream) {
  constexpr int kSlotFours = Config::kRowBlocks * kBlockRows * Config::kDstate / 4;
  const cuda::LaunchShape shape = {
      .grid = dim3(static_cast<unsigned>(params.plan.num_tasks * (kSlotFours / kJoinThreads))),
      .num_threads = kJoinThreads,
      .stream = stream,
      .starts_early = true};
  return cuda::LaunchKernel(kScanName, JoinKernel<Config>, shape, params);
}

template <int kDstate, int kRowHeads>
Status ScanKernels<kDstate, kRowHeads>::Prepare(bool has_z) {
  using StatesConfig = ScanConfig<kDstate, kRowHeads, false, ScanPass::kStates>;
  TILESCAN_RETURN_IF_ERROR(PrepareKernel<StatesConfig>());
  TILESCAN_RETURN_IF_ERROR(cuda::LoadKernel(kScanName, JoinKernel<StatesConfig>));
  return has_z ? PrepareKernel<ScanConfig<kDstate, kRowHeads, true, ScanPass::kOut>>()
               : PrepareKernel<ScanConfig<kDstate, kRowHeads, false, ScanPass::kOut>>();
}

template <int kDstate, int kRowHeads>
Status ScanKernels<kDstate, kRowHeads>::Enqueue(const ScanParams& params, bool has_z,
                                                cudaStream_t stream) {
  using OutConfig = ScanConfig<kDstate, kRowHeads, false, ScanPass::kOut>;
  using GatedOutConfig = ScanConfig<kDstate, kRowHeads, true, ScanPass::kOut>;
  using StatesConfig = ScanConfig<kDstate, kRowHeads, false, ScanPass::kStates>;
  const ScanPlan& plan = params.plan;
  if (plan.num_state_workers > 0) {
    TILESCAN_RETURN_IF_ERROR(
        LaunchScan<StatesConfig>(params, plan.num_state_workers, false, stream));
    TILESCAN_RETURN_IF_ERROR(LaunchJoin<StatesConfig>(params, stream));
  }
  const bool waits = plan.cut == ScanCut::kHalves;
  return has_z ? LaunchScan<GatedOutConfig>(params, plan.num_workers, waits, stream)
               : LaunchScan<OutConfig>(params, plan.num_workers, waits, stream);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_LAUNCH_CUH_
