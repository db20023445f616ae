// The scan, streaming: the state of a head's channels stays in registers, in fp32, from the first
// chunk to the last.
//
//   state_t = exp(dt_t A) state_{t-1} + dt_t x_t (outer) B_t
//   out_t   = state_t . C_t + D x_t ;  with z: out_t *= silu(z_t)
//
// x z out (batch, seqlen, nheads, headdim) and B C (batch, seqlen, ngroups, dstate) in bf16, rows
// dense; dt (batch, seqlen, nheads), A dt_bias (nheads), D (nheads) or (nheads, headdim) any float;
// CB (batch, ngroups, nchunks, 64, 64) = tril(C B^T) of each chunk, in bf16, made before.
//
// Grid: blocks that stay and take their pieces of a ScanPlan one after another. A block has 384
// threads, and 2 row blocks of a group (scan_config.h), or 1 where dstate is 256:
//   warp 0           has TMA bring x, B, C, CB and z (scan_copies.cuh)
//   warps 1, 2       a row block each: dt to the factors of each chunk (scan_factors.cuh)
//   warp 3           has TMA take out away (scan_copies.cuh)
//   warps 4 to 7, and 8 to 11: a row block each, or a half of dstate: the products
//                    (scan_bodies.cuh, scan_rows.cuh)
// They meet in rings in shared memory (for dstate 128 213 KiB, with z 226: one block on a
// multiprocessor).
//
// A second kernel of the same parts computes states only, where pieces of a task run at once.
//
// Bound about equally by the work on single elements beside the products, by the power that the
// products draw, and by the pattern in which x and out lie in memory.
#ifndef TILESCAN_HOPPER_SCAN_KERNEL_CUH_
#define TILESCAN_HOPPER_SCAN_KERNEL_CUH_

#include <cstdint>
#include <cuda/ptx>

#include "hopper/scan_copies.cuh"
#include "hopper/scan_factors.cuh"
#include "hopper/scan_rows.cuh"

namespace tilescan::hopper {

template <typename Config>
__device__ __forceinline__ void Feed(const ScanParams& params, ScanStorage<Config>& storage) {
  static_assert(kWarpgroupWarps == 2 + kRowWarpgroups);
  const int warp = ptx::Uniform(static_cast<int>(threadIdx.x) / kWarpLanes);
  const bool is_first_lane = threadIdx.x % kWarpLanes == 0;
  if (warp == 0) {
    if (is_first_lane) LoadTiles<Config>(params, storage);
    // The states alone take nothing from the kernel before, but end after it, so that what waits
    // for them need not wait for that too.
    if constexpr (!Config::kMakesOut) cudaGridDependencySynchronize();
  } else if (warp <= Config::kRowBlocks) {
    MakeFactors<Config>(params, storage, warp - 1);
  } else if constexpr (Config::kMakesOut) {
    if (warp == kWarpgroupWarps - 1 && is_first_lane) StoreOut<Config>(params, storage);
  }
}

template <typename Config>
__global__ void __launch_bounds__(kScanThreads, 1)
    ScanKernel(const __grid_constant__ ScanParams params) {
  extern __shared__ Tile shared_memory[];
  auto& storage = *reinterpret_cast<ScanStorage<Config>*>(shared_memory);
  static_assert(sizeof(ScanStorage<Config>) <= kMostSharedBytes);
  if constexpr (!Config::kMakesOut) cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x == 0) InitRings(storage);
  __syncthreads();

  const int warpgroup = ptx::Uniform(static_cast<int>(threadIdx.x) / kWarpgroupThreads);
  if (warpgroup == 0) {
    ::cuda::ptx::setmaxnreg_dec(::cuda::ptx::n32_t<Config::kFeedRegisters>{});
    Feed<Config>(params, storage);
  } else {
    ::cuda::ptx::setmaxnreg_inc(::cuda::ptx::n32_t<Config::kRowRegisters>{});
    ScanRows<Config>(params, storage, warpgroup - 1);
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_KERNEL_CUH_
