// Rows of factors for the matrix unit: pairs of bf16 out of two rows of fp32 or bf16. Nothing is
// permuted: the depths k and k + 16 of a step of 32 are a pair, in both factors.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_PAIRS_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_PAIRS_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_PAIRS_INL_H_
#endif

#include <cstdint>

#include "cpu/kernels/matrix_unit-inl.h"
#include "cpu/kernels/simd_transpose-inl.h"
#include "hwy/highway.h"
#include "numerics/bfloat16.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using PairTag = hn::Rebind<uint32_t, UnitTag>;
using PairVector = hn::Vec<PairTag>;

// Elements of bf16, each as the low half of a lane.
HWY_INLINE PairVector LoadHalves(const numerics::BFloat16* from) {
  const hn::Rebind<uint16_t, UnitTag> du16;
  return hn::PromoteTo(PairTag(), hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from)));
}
HWY_INLINE UnitVector FloatOfLow(PairVector pairs) {
  return hn::BitCast(UnitTag(), hn::ShiftLeft<16>(pairs));
}
HWY_INLINE UnitVector FloatOfHigh(PairVector pairs) {
  return hn::BitCast(UnitTag(), hn::And(pairs, hn::Set(PairTag(), 0xffff0000u)));
}

// The upper halves of two vectors of floats: exact for floats that are bf16.
HWY_INLINE PairVector PairOfUpper(UnitVector low, UnitVector high) {
  const PairTag d;
  return hn::OrAnd(hn::ShiftRight<16>(hn::BitCast(d, low)), hn::Set(d, 0xffff0000u),
                   hn::BitCast(d, high));
}

// Rounded to nearest, ties away from zero: four operations, where ties to even take eight. A NaN
// must be canonical, so that the carry stays in its payload.
HWY_INLINE PairVector PairOfRounded(UnitVector low, UnitVector high) {
  const PairTag d;
  const PairVector half = hn::Set(d, 0x8000u);
  return PairOfUpper(hn::BitCast(UnitTag(), hn::Add(hn::BitCast(d, low), half)),
                     hn::BitCast(UnitTag(), hn::Add(hn::BitCast(d, high), half)));
}

// value = its upper half + rest, exactly for finite values.
HWY_INLINE UnitVector RestOfUpper(UnitVector value) {
  return hn::Sub(value, FloatOfHigh(hn::BitCast(PairTag(), value)));
}

HWY_INLINE UnitVector CanonicalNaN(UnitVector value) {
  const UnitTag d;
  return hn::IfThenElse(hn::Eq(value, value), value,
                        hn::BitCast(d, hn::Set(PairTag(), 0x7fc00000u)));
}

// 16 lanes of pairs out of 16 floats each, by upper halves.
HWY_INLINE void StorePairRow(const float* low, const float* high, uint32_t* to) {
  for (int64_t lane = 0; lane < kTileColumns; lane += kUnitLanes) {
    hn::Store(PairOfUpper(hn::LoadU(UnitTag(), low + lane), hn::LoadU(UnitTag(), high + lane)),
              PairTag(), to + lane);
  }
}

// Rows become columns.
HWY_INLINE void TransposeTile(const uint32_t* from, uint32_t* to) {
  for (int64_t row = 0; row < kTileRows; row += 4) {
    TransposeFourRows(reinterpret_cast<const float*>(from + row * kTileColumns), kTileColumns,
                      kTileRows, reinterpret_cast<float*>(to + row), kTileColumns);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_PAIRS_INL_H_
