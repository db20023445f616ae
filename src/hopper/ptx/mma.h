// mma.sync: products of a warp, D (16, 8) += A (16, 16) B (16, 8), all in registers, in bf16 with
// fp32 sums. Lane l holds, with row = l / 4 and col = 2 (l % 4):
//   d[0, 1] D[row][col, + 1]   a[0] A[row    ][col, + 1]   a[2] A[row    ][8 + col, + 1]
//   d[2, 3] D[row + 8][...]    a[1] A[row + 8][col, + 1]   a[3] A[row + 8][8 + col, + 1]
//   b[0] B[col, + 1][row]      b[1] B[8 + col, + 1][row]
#ifndef TILESCAN_HOPPER_PTX_MMA_H_
#define TILESCAN_HOPPER_PTX_MMA_H_

#include <cstdint>

namespace tilescan::hopper::ptx {

__device__ __forceinline__ void MmaN8(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                      uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace tilescan::hopper::ptx

#endif  // TILESCAN_HOPPER_PTX_MMA_H_
