// chunk_cumsum, and the decays between tokens that follow from it.
#if defined(TILESCAN_CPU_KERNELS_SCAN_DECAY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_DECAY_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_DECAY_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_DECAY_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"
#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// exp(high + low), low being too small beside high for the sum to hold it. Where it is not small,
// exp of high is 0 or infinite, and stays so.
HWY_INLINE TileVector ExpOfSum(TileVector high, TileVector low) {
  const TileTag d;
  const TileVector factor = hn::Add(hn::Set(d, 1.0f), hn::Max(low, hn::Set(d, -0.5f)));
  return hn::Mul(Exp(d, high), factor);
}

// The processed steps, and their running sum times A in float64, kept as two floats.
// A single step's decay is bounded to exp(+-1e5): beyond it, exp is 0 or infinity in float64 too,
// and the bound keeps what smaller steps add behind it from being lost in the sum.
inline void ChunkCumsum(const Rows& dt, int64_t num_tokens, const HeadParameters& parameters,
                        const HeadBuffers& head) {
  const TileTag d;
  LoadRow(dt.At(0), dt.dtype, dt.row_stride, num_tokens, head.dt);
  const int64_t padded = RoundUp(num_tokens, kLanes);
  std::fill(head.dt + num_tokens, head.dt + padded, 0.0f);
  for (int64_t token = 0; token < padded; token += kLanes) {
    TileVector step = hn::Add(hn::Load(d, head.dt + token), hn::Set(d, parameters.dt_bias));
    if (parameters.dt_softplus) step = Softplus(d, step);
    step = Clamp(step, hn::Set(d, parameters.dt_limit_min), hn::Set(d, parameters.dt_limit_max));
    hn::Store(step, d, head.dt + token);
  }
  // In three loops, so that only the sum itself is one step after another.
  constexpr double kBound = 1e5;
  constexpr int64_t kPart = 64;
  double a = 0.0;
  double sums[kPart];
  for (int64_t first = 0; first < num_tokens; first += kPart) {
    const int64_t count = std::min(kPart, num_tokens - first);
    for (int64_t idx = 0; idx < count; ++idx) {
      const double dA =
          static_cast<double>(head.dt[first + idx]) * static_cast<double>(parameters.A);
      const double bounded_below = dA < -kBound ? -kBound : dA;
      sums[idx] = bounded_below > kBound ? kBound : bounded_below;
    }
    for (int64_t idx = 0; idx < count; ++idx) {
      a += sums[idx];
      sums[idx] = a;
    }
    for (int64_t idx = 0; idx < count; ++idx) {
      const auto high = static_cast<float>(sums[idx]);
      head.a_high[first + idx] = high;
      head.a_low[first + idx] = static_cast<float>(sums[idx] - static_cast<double>(high));
    }
  }
  std::fill(head.a_high + num_tokens, head.a_high + padded, 0.0f);
  std::fill(head.a_low + num_tokens, head.a_low + padded, 0.0f);
  for (int64_t token = 0; token < padded; token += kLanes) {
    const TileVector high = hn::Load(d, head.a_high + token);
    const TileVector low = hn::Load(d, head.a_low + token);
    const TileVector inverse = ExpOfSum(hn::Neg(high), hn::Neg(low));
    hn::Store(ExpOfSum(high, low), d, head.decay + token);
    hn::Store(hn::Mul(inverse, hn::Load(d, head.dt + token)), d, head.inverse + token);
  }
}

// a_i - a_j for a vector of j.
HWY_INLINE TileVector DecayBetween(const HeadBuffers& head, TileVector high_i, TileVector low_i,
                                   int64_t j) {
  const TileTag d;
  const TileVector high = hn::Sub(high_i, hn::Load(d, head.a_high + j));
  const TileVector low = hn::Sub(low_i, hn::Load(d, head.a_low + j));
  return hn::Add(high, low);
}

// Whether exp(a_i) exp(-a_j) dt_j may stand for exp(a_i - a_j) dt_j as far as token i goes: none of
// the factors is near the ends of float. False for NaN.
HWY_INLINE bool IsWeak(const HeadBuffers& head, int64_t i) {
  constexpr float kMostExponent = 60.0f;
  constexpr float kMostInverse = 1e30f;
  const float inverse = std::abs(head.inverse[i]);
  return std::abs(head.a_high[i]) <= kMostExponent &&
         ((inverse >= 1.0f / kMostInverse && inverse <= kMostInverse) || head.dt[i] == 0.0f);
}

// to[j] = factor[j] exp(a_i - a_j) dt_j for j <= i, where all of these tokens are weak. What stands
// right of i is undefined.
HWY_INLINE void WeighWeakly(const HeadBuffers& head, int64_t i, const float* factor, float* to) {
  const TileTag d;
  const TileVector decay = hn::Set(d, head.decay[i]);
  for (int64_t j = 0; j <= i; j += kLanes) {
    const TileVector weight = hn::Mul(decay, hn::Load(d, head.inverse + j));
    hn::Store(hn::Mul(hn::Load(d, factor + j), weight), d, to + j);
  }
}

// to[j] = factor[j] exp(a_i - a_j) dt_j for j <= i; factor null: 1. What is not causal is masked
// before anything is computed of it.
HWY_INLINE void WeighCausal(const HeadBuffers& head, int64_t i, const float* factor, float* to) {
  const TileTag d;
  const TileVector high_i = hn::Set(d, head.a_high[i]);
  const TileVector low_i = hn::Set(d, head.a_low[i]);
  const auto weigh = [&](int64_t j, TileVector exponent) HWY_ATTR {
    const TileVector weight = hn::Mul(Exp(d, exponent), hn::Load(d, head.dt + j));
    hn::Store(factor == nullptr ? weight : hn::Mul(hn::Load(d, factor + j), weight), d, to + j);
  };
  int64_t j = 0;
  for (; j + kLanes <= i + 1; j += kLanes) weigh(j, DecayBetween(head, high_i, low_i, j));
  if (j > i) return;
  const auto is_causal = hn::FirstN(d, static_cast<size_t>(i + 1 - j));
  weigh(j, hn::IfThenElseZero(is_causal, DecayBetween(head, high_i, low_i, j)));
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_DECAY_INL_H_
