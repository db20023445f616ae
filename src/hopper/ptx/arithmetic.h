// Arithmetic of one instruction each, on fp32 and on pairs of bf16 in 32 bits (the first in the low
// half).
#ifndef TILESCAN_HOPPER_PTX_ARITHMETIC_H_
#define TILESCAN_HOPPER_PTX_ARITHMETIC_H_

#include <cstdint>

namespace tilescan::hopper::ptx {

// 2^value within 2 ulp; results below 2^-126 become 0. Infinite and NaN as expected.
__device__ __forceinline__ float Exp2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// 1 / value within 1 ulp; values below 2^-126 count as 0, results below it become 0.
__device__ __forceinline__ float Reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// Both rounded to nearest.
__device__ __forceinline__ uint32_t RoundPair(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ uint32_t MultiplyPairs(uint32_t a, uint32_t b) {
  uint32_t result;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

// a b + c, rounded once.
__device__ __forceinline__ uint32_t MultiplyAddPairs(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

__device__ __forceinline__ float FirstOf(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float SecondOf(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

// Hides where a value came from, so that the compiler computes it anew behind this place instead of
// keeping in registers what follows from it.
__device__ __forceinline__ void Forget(int32_t& value) { asm volatile("" : "+r"(value)); }

// A value that is the same in all lanes of a warp, so that the compiler knows it is.
__device__ __forceinline__ int32_t Uniform(int32_t value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

}  // namespace tilescan::hopper::ptx

#endif  // TILESCAN_HOPPER_PTX_ARITHMETIC_H_
