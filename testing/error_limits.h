// How large an error may be, and why.
#ifndef TILESCAN_TESTING_ERROR_LIMITS_H_
#define TILESCAN_TESTING_ERROR_LIMITS_H_

#include <algorithm>

#include "testing/compare.h"
#include "testing/operands.h"
#include "testing/target.h"

namespace tilescan::testing {

inline bool IsHalf(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }

// The dtype that results are of, if nothing else is asked for.
inline DType MainDType(const SplitOperands& operands) { return operands.zxbcdt.dtype(); }
template <typename Operands>
DType MainDType(const Operands& operands) {
  return operands.x.dtype();
}

// Parts of an operation, each of which is off by itself and takes what the one before is off by.
inline int NumParts(const SplitOperands& operands) {
  return operands.rmsnorm_weight.present() ? 3 : 2;
}
template <typename Operands>
int NumParts(const Operands&) {
  return 1;
}

// The largest |error| / largest |truth| that any target may have. 2e-5 and 1e-2 are the bounds that
// this field's implementations of a part are tested with in float32 and in 16-bit precision.
template <typename Operands>
double GeneralMaxRelative(const Operands& operands, DType output_dtype) {
  return NumParts(operands) * (IsHalf(MainDType(operands)) || IsHalf(output_dtype) ? 1e-2 : 2e-5);
}

// What is rounded on the way to an output.
struct Roundings {
  double of_products = 0.0;    // operands of products, the error relative to magnitude
  bool between_parts = false;  // results of an operation's parts, as honest runs do, too
};

// Matrix units round operands of products in a scan of 16-bit operands: a GPU's general kernels to
// tf32 (2^-11), up to four on the way to out (B, C, and the state or the weighted C B^T, made from
// x); kernels that take such operands only to bf16 (2^-9), up to two, as B and C are bf16 already.
inline double ProductRounding(const Target& target, bool has_half) {
  if (!has_half) return 0.0;
  if (!target.is_general) return 2 * 0x1p-9;
  return target.IsOnDevice() ? 4 * 0x1p-11 : 0.0;
}

inline Roundings RoundingsOf(const Target& target, const ScanOperands& operands) {
  return {ProductRounding(target, IsHalf(operands.x.dtype()) || IsHalf(operands.B.dtype())), false};
}
inline Roundings RoundingsOf(const Target& target, const SplitOperands& operands) {
  const DType dtype = operands.zxbcdt.dtype();
  return {ProductRounding(target, IsHalf(dtype)), dtype != DType::kFloat64};
}
template <typename Operands>
Roundings RoundingsOf(const Target&, const Operands&) {
  return {};
}

// The largest |error| / magnitude. The reference computes in float64 and rounds once, but between
// the parts of an operation. Others compute in float32: an error may be a few times that of a plain
// float32 run of the same problem, because a chunked sum has other partial sums and decays are
// exponentials of sums (scalar and AVX2 kernels were at 1.8 times at most over the named cases when
// this was set); and however lucky that run was, a result is rounded to its dtype and a few float32
// operations lie behind it.
inline double MaxScaledLimit(const Target& target, const Roundings& roundings, DType output_dtype,
                             double honest_max_scaled) {
  // A GPU's exponentials are within 2 ulp, where a CPU's are within 1.
  const double times_honest = target.IsOnDevice() ? 8.0 : 4.0;
  constexpr double kFewOperations = 8.0 * 0x1p-24;
  constexpr double kDouble = 1e-12;
  const double rounding = UnitRoundoff(output_dtype);
  if (target.backend == "reference" && !roundings.between_parts) return rounding + kDouble;
  const double computing = std::max(honest_max_scaled - rounding, 0.0);
  return rounding + roundings.of_products + std::max(times_honest * computing, kFewOperations);
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_ERROR_LIMITS_H_
