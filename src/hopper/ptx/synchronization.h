// Barriers of some of a block's threads, and words in global memory that order what blocks wrote.
#ifndef TILESCAN_HOPPER_PTX_SYNCHRONIZATION_H_
#define TILESCAN_HOPPER_PTX_SYNCHRONIZATION_H_

#include <cstdint>

namespace tilescan::hopper::ptx {

// barrier_idx in 1..15 (0 is that of __syncthreads()); whole warps, num_threads of them in all.
__device__ __forceinline__ void SyncNamedBarrier(int barrier_idx, int num_threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(barrier_idx), "r"(num_threads) : "memory");
}

// What the thread that stored the value with StoreRelease() had seen or written before is seen.
__device__ __forceinline__ uint32_t LoadAcquire(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ void StoreRelease(uint32_t* word, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

}  // namespace tilescan::hopper::ptx

#endif  // TILESCAN_HOPPER_PTX_SYNCHRONIZATION_H_
