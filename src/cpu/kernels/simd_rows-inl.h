// Rows of any float dtype and stride, to and from compact fp32. Rounding is to nearest even.
#if defined(TILESCAN_CPU_KERNELS_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SIMD_ROWS_INL_H_
#undef TILESCAN_CPU_KERNELS_SIMD_ROWS_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SIMD_ROWS_INL_H_
#endif

#include "cpu/kernels/row.h"
#include "hwy/highway.h"
#include "numerics/bfloat16.h"
#include "numerics/float16.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr bool kIsBaseline = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;
inline constexpr const char* kInstructionSet = kIsBaseline              ? "scalar"
                                               : HWY_TARGET == HWY_NEON ? "neon"
                                               : HWY_TARGET == HWY_AVX2 ? "avx2"
                                                                        : "avx512";

// Highway's conversions of 16-bit floats exist for whole vectors of every target but the scalar
// one.
inline constexpr bool kHasVectorFloat16 = !kIsBaseline;

HWY_INLINE float ReadFloat(float value) { return value; }
HWY_INLINE float ReadFloat(numerics::BFloat16 value) { return numerics::ToFloat(value); }
HWY_INLINE float ReadFloat(numerics::Float16 value) { return numerics::ToFloat(value); }

HWY_INLINE void WriteFloat(float value, float* to) { *to = value; }
HWY_INLINE void WriteFloat(float value, numerics::BFloat16* to) {
  *to = numerics::ToBFloat16(value);
}
HWY_INLINE void WriteFloat(float value, numerics::Float16* to) { *to = numerics::ToFloat16(value); }

template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const numerics::BFloat16* from) {
  const hn::Rebind<uint16_t, D> du16;
  const hn::Rebind<uint32_t, D> du32;
  const auto bits = hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, bits)));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const numerics::Float16* from) {
  if constexpr (kHasVectorFloat16) {
    const hn::Rebind<hwy::float16_t, D> df16;
    return hn::PromoteTo(d, hn::LoadU(df16, reinterpret_cast<const hwy::float16_t*>(from)));
  } else {
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) lanes[lane] = ReadFloat(from[lane]);
    return hn::Load(d, lanes);
  }
}

template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}
template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> value, numerics::BFloat16* to) {
  const hn::Rebind<uint16_t, D> du16;
  const hn::Rebind<uint32_t, D> du32;
  const hn::Rebind<int32_t, D> di32;
  const auto bits = hn::BitCast(du32, value);
  const auto last_kept_bit = hn::And(hn::ShiftRight<16>(bits), hn::Set(du32, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du32, 0x7fff)), last_kept_bit);
  const auto quiet_nan = hn::Or(bits, hn::Set(du32, 0x00400000));
  const auto is_number =
      hn::MaskFromVec(hn::BitCast(du32, hn::VecFromMask(d, hn::Eq(value, value))));
  const auto chosen = hn::ShiftRight<16>(hn::IfThenElse(is_number, rounded, quiet_nan));
  hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di32, chosen)), du16, reinterpret_cast<uint16_t*>(to));
}
template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> value, numerics::Float16* to) {
  if constexpr (kHasVectorFloat16) {
    const hn::Rebind<hwy::float16_t, D> df16;
    hn::StoreU(hn::DemoteTo(df16, value), df16, reinterpret_cast<hwy::float16_t*>(to));
  } else {
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    hn::Store(value, d, lanes);
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) WriteFloat(lanes[lane], to + lane);
  }
}

template <typename T>
HWY_INLINE void LoadRowOf(const T* from, int64_t stride, int64_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t idx = 0;
  if (stride == 1) {
    for (; idx + lanes <= count; idx += lanes) hn::StoreU(LoadFloats(d, from + idx), d, to + idx);
  }
  for (; idx < count; ++idx) to[idx] = ReadFloat(from[idx * stride]);
}

template <typename T>
HWY_INLINE void StoreRowOf(const float* HWY_RESTRICT from, int64_t count, T* to, int64_t stride) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t idx = 0;
  if (stride == 1) {
    for (; idx + lanes <= count; idx += lanes) StoreFloats(d, hn::LoadU(d, from + idx), to + idx);
  }
  for (; idx < count; ++idx) WriteFloat(from[idx], to + idx * stride);
}

// to[i] = element i of the row.
HWY_INLINE void LoadRow(const std::byte* from, DType dtype, int64_t stride, int64_t count,
                        float* HWY_RESTRICT to) {
  switch (dtype) {
    case DType::kBFloat16:
      return LoadRowOf(reinterpret_cast<const numerics::BFloat16*>(from), stride, count, to);
    case DType::kFloat16:
      return LoadRowOf(reinterpret_cast<const numerics::Float16*>(from), stride, count, to);
    default:
      return LoadRowOf(reinterpret_cast<const float*>(from), stride, count, to);
  }
}

HWY_INLINE void StoreRow(const float* HWY_RESTRICT from, int64_t count, DType dtype, std::byte* to,
                         int64_t stride) {
  switch (dtype) {
    case DType::kBFloat16:
      return StoreRowOf(from, count, reinterpret_cast<numerics::BFloat16*>(to), stride);
    case DType::kFloat16:
      return StoreRowOf(from, count, reinterpret_cast<numerics::Float16*>(to), stride);
    default:
      return StoreRowOf(from, count, reinterpret_cast<float*>(to), stride);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SIMD_ROWS_INL_H_
