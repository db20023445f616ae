// Launches the kernels of the streaming scan.
#ifndef TILESCAN_HOPPER_SCAN_LAUNCH_CUH_
#define TILESCAN_HOPPER_SCAN_LAUNCH_CUH_

#include <cstdint>

#include "cuda/error.h"
#include "hopper/scan_kernel.cuh"
#include "hopper/scan_kernels.h"

namespace tilescan::hopper {

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

template <int kDstate, int kRowHeads>
Status ScanKernels<kDstate, kRowHeads>::Prepare(bool has_z) {
  TILESCAN_RETURN_IF_ERROR(
      (PrepareKernel<ScanConfig<kDstate, kRowHeads, false, ScanPass::kStates>>()));
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
        LaunchKernel<StatesConfig>(params, plan.num_state_workers, false, stream));
  }
  const bool waits = plan.cut == ScanCut::kHalves;
  return has_z ? LaunchKernel<GatedOutConfig>(params, plan.num_workers, waits, stream)
               : LaunchKernel<OutConfig>(params, plan.num_workers, waits, stream);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_LAUNCH_CUH_
