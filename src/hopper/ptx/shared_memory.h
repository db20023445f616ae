// Shared memory by its own 32-bit addresses, and matrices of 8 x 8 bf16 in it, transposed on the
// way: lane l of a warp gives the address of row l % 8 (16 bytes) of matrix l / 8, and holds in
// register m the elements [2 (l % 4), + 1][l / 4] of matrix m.
#ifndef TILESCAN_HOPPER_PTX_SHARED_MEMORY_H_
#define TILESCAN_HOPPER_PTX_SHARED_MEMORY_H_

#include <cstdint>

namespace tilescan::hopper::ptx {

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void LoadMatricesTransposed(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void StoreMatricesTransposed(uint32_t address,
                                                        const uint32_t (&from)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
      : "memory");
}

}  // namespace tilescan::hopper::ptx

#endif  // TILESCAN_HOPPER_PTX_SHARED_MEMORY_H_
