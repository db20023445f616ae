// The instruction sets that the kernels are compiled for, and their names. Include before
// hwy/foreach_target.h.
#ifndef TILESCAN_CPU_KERNELS_HIGHWAY_TARGETS_H_
#define TILESCAN_CPU_KERNELS_HIGHWAY_TARGETS_H_

// All that the compiler can make, the weakest too, so that a switch can force each of them.
#define HWY_COMPILE_ALL_ATTAINABLE
// Between scalar code and AVX2 nothing is worth its size; beyond AVX-512BW nothing is used.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#include "hwy/detect_targets.h"

// Whether AMX is compiled, with the code for AVX-512. Clang assembles its instructions only in
// functions that are compiled for them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && (HWY_TARGETS & HWY_AVX3) != 0
#define TILESCAN_COMPILES_AMX 1
#else
#define TILESCAN_COMPILES_AMX 0
#endif

// Writes row(namespace) for each instruction set compiled in, weakest first. Highway's own
// dispatch picks the best of the machine; a table by name lets the caller pick any.
#if (HWY_TARGETS & HWY_SCALAR) != 0
#define TILESCAN_SCALAR_ROW(row) row(N_SCALAR)
#elif (HWY_TARGETS & HWY_EMU128) != 0
#define TILESCAN_SCALAR_ROW(row) row(N_EMU128)
#else
#define TILESCAN_SCALAR_ROW(row)
#endif
#if (HWY_TARGETS & HWY_NEON) != 0
#define TILESCAN_NEON_ROW(row) row(N_NEON)
#else
#define TILESCAN_NEON_ROW(row)
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
#define TILESCAN_AVX2_ROW(row) row(N_AVX2)
#else
#define TILESCAN_AVX2_ROW(row)
#endif
#if (HWY_TARGETS & HWY_AVX3) != 0
#define TILESCAN_AVX512_ROW(row) row(N_AVX3)
#else
#define TILESCAN_AVX512_ROW(row)
#endif
#define TILESCAN_FOR_EACH_VECTOR_SET(row) \
  TILESCAN_NEON_ROW(row) TILESCAN_AVX2_ROW(row) TILESCAN_AVX512_ROW(row)
#define TILESCAN_FOR_EACH_INSTRUCTION_SET(row) \
  TILESCAN_SCALAR_ROW(row) TILESCAN_FOR_EACH_VECTOR_SET(row)

#endif  // TILESCAN_CPU_KERNELS_HIGHWAY_TARGETS_H_
