// wgmma: products of a warpgroup, D (64, N) += A (64, 16) B (16, N), A in registers, B in shared
// memory, in bf16 with fp32 sums.
//
// All four warps of the warpgroup execute each of these. Thread (warp w, lane l) holds, with
// row = 16 w + l / 4 and col = 2 (l % 4):
//   d[4 n + 0, 1]  D[row    ][8 n + col, + 1]      a[0]  A[row    ][col, + 1]
//   d[4 n + 2, 3]  D[row + 8][8 n + col, + 1]      a[1]  A[row + 8][col, + 1]
//                                                  a[2]  A[row    ][8 + col, + 1]
//                                                  a[3]  A[row + 8][8 + col, + 1]
// so that d[8 k ... 8 k + 7], rounded in pairs, is the fragment a of A = D[:, 16 k ... 16 k + 15].
#ifndef TILESCAN_HOPPER_PTX_WGMMA_H_
#define TILESCAN_HOPPER_PTX_WGMMA_H_

#include <cstdint>

namespace tilescan::hopper::ptx {

// Where B lies in shared memory: in rows of 128 bytes with their 16-byte pieces swizzled, as TMA
// writes them with SWIZZLE_128B, 8 rows (1024 bytes, aligned to that) after another. The low word
// of the descriptor of the instruction; the high word is the same for all.
struct Operand {
  uint32_t low;

  // The same, beginning so many bytes further on: at a later column or, 8 at a time, row.
  __device__ __forceinline__ Operand operator+(int num_bytes) const {
    return {low + static_cast<uint32_t>(num_bytes / 16)};
  }
  __device__ __forceinline__ uint64_t Descriptor() const {
    constexpr uint32_t kGroupBytes = 1024;
    constexpr uint32_t kSwizzle128 = 1u << 30;
    return uint64_t{kSwizzle128 | kGroupBytes / 16} << 32 | low;
  }
};

// B (16, N) of which shared memory holds the transpose: a row for each of the N columns, the 16
// along it.
__device__ __forceinline__ Operand AlongRows(uint32_t address) {
  constexpr uint32_t kUnused = 1;
  return {address / 16 | kUnused << 16};
}

// B (16, N) as shared memory holds it: 16 rows, N along them, 64 to a row; the next 64 columns are
// columns_bytes further on.
__device__ __forceinline__ Operand AcrossRows(uint32_t address, uint32_t columns_bytes) {
  return {address / 16 | columns_bytes / 16 << 16};
}

// Before the first product, and after registers of A or D were written.
__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void WgmmaCommitGroup() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most kPending groups are under way.
template <int kPending>
__device__ __forceinline__ void WgmmaWaitGroup() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving a use of d to before this place.
template <int kSize>
__device__ __forceinline__ void PinRegisters(float (&d)[kSize]) {
#pragma unroll
  for (int idx = 0; idx < kSize; ++idx) asm volatile("" : "+f"(d[idx])::"memory");
}

// In all of these kAccumulate false means D = A B, and kAcross that b is AcrossRows().

// N = 32. d may be the sums of a larger N: its first 32 columns are meant.
template <bool kAccumulate, bool kAcross, int kSize>
__device__ __forceinline__ void WgmmaN32(float (&d)[kSize], const uint32_t (&a)[4], Operand b) {
  static_assert(kSize >= 16);
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, %21, 1, 1, %22;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.Descriptor()), "n"(kAccumulate ? 1 : 0),
        "n"(kAcross ? 1 : 0));
}

// N = 64.
template <bool kAccumulate, bool kAcross>
__device__ __forceinline__ void WgmmaN64(float (&d)[32], const uint32_t (&a)[4], Operand b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, %37, 1, 1, %38;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.Descriptor()), "n"(kAccumulate ? 1 : 0),
        "n"(kAcross ? 1 : 0));
}

// N = 128.
template <bool kAccumulate, bool kAcross>
__device__ __forceinline__ void WgmmaN128(float (&d)[64], const uint32_t (&a)[4], Operand b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, %69, 1, 1, %70;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.Descriptor()), "n"(kAccumulate ? 1 : 0),
        "n"(kAcross ? 1 : 0));
}

}  // namespace tilescan::hopper::ptx

#endif  // TILESCAN_HOPPER_PTX_WGMMA_H_
