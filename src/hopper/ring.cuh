// Rings of stages in shared memory that some warps fill and others empty.
#ifndef TILESCAN_HOPPER_RING_CUH_
#define TILESCAN_HOPPER_RING_CUH_

#include <cstdint>
#include <cuda/ptx>

#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Where a warp stands in a ring. Both sides begin at the first stage, with all stages empty.
template <int kStages>
struct RingCursor {
  int stage = 0;
  uint32_t parity = 0;  // of the round

  __device__ __forceinline__ void Advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Whether the phase of this parity is over. To be asked again if not.
__device__ __forceinline__ bool IsOver(uint64_t& barrier, uint32_t parity) {
  return ::cuda::ptx::mbarrier_try_wait_parity(&barrier, parity);
}

template <int kStages>
__device__ __forceinline__ bool IsFull(RingBarriers<kStages>& ring, RingCursor<kStages> at) {
  return IsOver(ring.full[at.stage], at.parity);
}

template <int kStages>
__device__ __forceinline__ void WaitFull(RingBarriers<kStages>& ring, RingCursor<kStages> at) {
  while (!IsFull(ring, at)) {
  }
}

// In the first round the phase asked for is the one before the barrier's first: that is over.
template <int kStages>
__device__ __forceinline__ void WaitEmpty(RingBarriers<kStages>& ring, RingCursor<kStages> at) {
  while (!IsOver(ring.empty[at.stage], at.parity ^ 1)) {
  }
}

__device__ __forceinline__ void Arrive(uint64_t& barrier) {
  ::cuda::ptx::mbarrier_arrive(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                               ::cuda::ptx::space_shared, &barrier);
}

// Lanes that arrive for a warp. One is enough: __syncwarp() orders what the others did before its
// release. compute-sanitizer's racecheck does not follow that: for it all arrive.
#ifdef TILESCAN_RACECHECK
inline constexpr int kArrivingLanes = kWarpLanes;
#else
inline constexpr int kArrivingLanes = 1;
#endif

// A warp's share of a stage is done.
__device__ __forceinline__ void ArriveOfWarp(uint64_t& barrier) {
  __syncwarp();
  if (threadIdx.x % kWarpLanes < kArrivingLanes) Arrive(barrier);
}

// The one thread that has TMA fill a stage says how many bytes will come, and asks for them.
__device__ __forceinline__ void ExpectBytes(uint64_t& barrier, int num_bytes) {
  ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                         ::cuda::ptx::space_shared, &barrier,
                                         static_cast<uint32_t>(num_bytes));
}

template <int kStages>
__device__ __forceinline__ void InitRing(RingBarriers<kStages>& ring, int num_filling,
                                         int num_emptying) {
  if constexpr (kStages > 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ::cuda::ptx::mbarrier_init(&ring.full[stage], static_cast<uint32_t>(num_filling));
      ::cuda::ptx::mbarrier_init(&ring.empty[stage], static_cast<uint32_t>(num_emptying));
    }
  }
}

// By one thread, before the block's threads meet for the first time.
template <typename Config>
__device__ __forceinline__ void InitRings(ScanStorage<Config>& storage) {
  constexpr int kWarpgroup = kWarpgroupWarps * kArrivingLanes;  // arrivals of one
  constexpr int kAll = kRowWarpgroups * kWarpgroup;
  InitRing(storage.x_ring, 1, kAll);
  InitRing(storage.group_ring, 1, kAll);
  InitRing(storage.z_ring, 1, Config::kRowBlocks * kWarpgroup);
  InitRing(storage.share_ring, kWarpgroup, kWarpgroup);
  for (int idx = 0; idx < Config::kRowBlocks; ++idx) {
    InitRing(storage.factor_ring[idx], kArrivingLanes, Config::kStateParts * kWarpgroup);
    InitRing(storage.out_ring[idx], kWarpgroup, 1);
  }
  // So that TMA sees them too.
  ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_RING_CUH_
