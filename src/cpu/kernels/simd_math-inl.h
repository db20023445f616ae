// Elementary functions on vectors of fp32, for the instruction set being compiled.
#if defined(TILESCAN_CPU_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SIMD_MATH_INL_H_
#undef TILESCAN_CPU_KERNELS_SIMD_MATH_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SIMD_MATH_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

// exp(x) within 2 ulp; denormal results included; infinity from 88.73, 0 below -104; NaN stays.
// exp(x) = 2^n exp(r), n = round(x / ln 2). The polynomial is a minimax fit of exp(r) on
// |r| <= ln(2) / 2 with relative error 3.8e-9.
HWY_INLINE FloatVector Exp(FloatTag d, FloatVector x) {
  const hn::Rebind<int32_t, FloatTag> di;
  const FloatVector one = hn::Set(d, 1.0f);
  // The limits only keep n small: past them the result is 0 or infinity anyway.
  const FloatVector bounded = hn::Max(hn::Set(d, -110.0f), hn::Min(hn::Set(d, 100.0f), x));
  const FloatVector n = hn::Round(hn::Mul(bounded, hn::Set(d, 1.44269504088896341f)));
  // ln 2 in two parts, the first with trailing zeros, so that n times it is exact.
  FloatVector r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860682030941723e-6f), r);
  FloatVector p = hn::Set(d, 1.381459848e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 8.368716887e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.166838805e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.666652063e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.999999345e-1f));
  p = hn::MulAdd(p, r, one);
  p = hn::MulAdd(p, r, one);
  // 2^n in two factors, since n reaches beyond the exponents of normal numbers.
  const auto exponent = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const auto first = hn::ShiftLeft<23>(hn::Add(half, bias));
  const auto second = hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias));
  const FloatVector result = hn::Mul(hn::Mul(p, hn::BitCast(d, first)), hn::BitCast(d, second));
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// log1p(exp(x)), the identity above 20. Relative error within 4 ulp, also where the result is tiny
// (log(1 + exp(x)) loses small steps): with u = exp(-|x|), log1p(u) = 2 atanh(u / (2 + u)), whose
// series is a minimax fit with relative error 5.6e-10.
HWY_INLINE FloatVector Softplus(FloatTag d, FloatVector x) {
  const FloatVector u = Exp(d, hn::Neg(hn::Abs(x)));
  const FloatVector s = hn::Div(u, hn::Add(u, hn::Set(d, 2.0f)));
  const FloatVector t = hn::Mul(s, s);
  FloatVector p = hn::Set(d, 1.214477874e-1f);
  p = hn::MulAdd(p, t, hn::Set(d, 1.071537046e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.430829836e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.999944418e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, 3.333333775e-1f));
  const FloatVector s2 = hn::Add(s, s);
  const FloatVector log1p = hn::MulAdd(hn::Mul(s2, t), p, s2);
  const FloatVector sum = hn::Add(hn::Max(hn::Zero(d), x), log1p);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0f)), x, sum);
}

// z * sigmoid(z), within 4 ulp where exp(-|z|) is not denormal (z > -87.3). From exp(-|z|), so that
// nothing overflows on the way to a tiny result.
HWY_INLINE FloatVector Silu(FloatTag d, FloatVector z) {
  const FloatVector one = hn::Set(d, 1.0f);
  const FloatVector u = Exp(d, hn::Neg(hn::Abs(z)));
  const FloatVector numerator = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), u, one);
  return hn::Mul(z, hn::Div(numerator, hn::Add(one, u)));
}

// Clamps to [lowest, highest]; NaN stays.
HWY_INLINE FloatVector Clamp(FloatVector x, FloatVector lowest, FloatVector highest) {
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  return hn::IfThenElse(hn::Gt(x, highest), highest, x);
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SIMD_MATH_INL_H_
