// The passes of ceiling_passes.h, compiled once for each instruction set.
#include "testing/ceiling_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "testing/ceiling_passes.cpp"
// The instruction sets that the library has kernels for.
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::testing::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

// A multiply-add may take 4 to 6 cycles and a core start 2 of them in one; 12 accumulators and 2
// operands still fit 16 registers.
constexpr int kNumAccumulators = 12;
constexpr double kFlopsARound =
    2.0 * kNumAccumulators * static_cast<double>(hn::MaxLanes(FloatTag()));

float MultiplyAdd(int64_t num_rounds, float seed) {
  const FloatTag d;
  const FloatVector factor = hn::Set(d, 1.0f + seed);
  const FloatVector term = hn::Set(d, seed);
  // Each begins with a value of its own: a compiler would make one of sums that are the same.
  const auto start = [&](int idx) HWY_ATTR { return hn::Set(d, seed + static_cast<float>(idx)); };
  FloatVector acc0 = start(0), acc1 = start(1), acc2 = start(2), acc3 = start(3);
  FloatVector acc4 = start(4), acc5 = start(5), acc6 = start(6), acc7 = start(7);
  FloatVector acc8 = start(8), acc9 = start(9), acc10 = start(10), acc11 = start(11);
  for (int64_t round = 0; round < num_rounds; ++round) {
    acc0 = hn::MulAdd(factor, term, acc0);
    acc1 = hn::MulAdd(factor, term, acc1);
    acc2 = hn::MulAdd(factor, term, acc2);
    acc3 = hn::MulAdd(factor, term, acc3);
    acc4 = hn::MulAdd(factor, term, acc4);
    acc5 = hn::MulAdd(factor, term, acc5);
    acc6 = hn::MulAdd(factor, term, acc6);
    acc7 = hn::MulAdd(factor, term, acc7);
    acc8 = hn::MulAdd(factor, term, acc8);
    acc9 = hn::MulAdd(factor, term, acc9);
    acc10 = hn::MulAdd(factor, term, acc10);
    acc11 = hn::MulAdd(factor, term, acc11);
  }
  const FloatVector sum =
      hn::Add(hn::Add(hn::Add(hn::Add(acc0, acc1), hn::Add(acc2, acc3)), hn::Add(acc4, acc5)),
              hn::Add(hn::Add(hn::Add(acc6, acc7), hn::Add(acc8, acc9)), hn::Add(acc10, acc11)));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void Copy(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const FloatTag d;
  constexpr int64_t kLanes = hn::MaxLanes(FloatTag());
  for (int64_t idx = 0; idx < count; idx += 2 * kLanes) {
    hn::Stream(hn::Load(d, from + idx), d, to + idx);
    hn::Stream(hn::Load(d, from + idx + kLanes), d, to + idx + kLanes);
  }
  hwy::FlushStream();
}

void InPlace(float* data, int64_t count) {
  const FloatTag d;
  constexpr int64_t kLanes = hn::MaxLanes(FloatTag());
  const FloatVector factor = hn::Set(d, 0.999f);
  for (int64_t idx = 0; idx < count; idx += 2 * kLanes) {
    hn::Store(hn::Mul(factor, hn::Load(d, data + idx)), d, data + idx);
    hn::Store(hn::Mul(factor, hn::Load(d, data + idx + kLanes)), d, data + idx + kLanes);
  }
}

// Constant data: a function here would be compiled for an instruction set the machine may not have.
constexpr CeilingPasses kPasses = {
#if HWY_TARGET == HWY_AVX3
    .instruction_set = "avx512",
#elif HWY_TARGET == HWY_AVX2
    .instruction_set = "avx2",
#elif HWY_TARGET == HWY_NEON
    .instruction_set = "neon",
#else
    .instruction_set = "scalar",
#endif
    .hwy_target = HWY_TARGET,
    .is_baseline = HWY_TARGET == HWY_STATIC_TARGET,
    .flops_a_round = kFlopsARound,
    .multiply_add = &MultiplyAdd,
    .copy = &Copy,
    .in_place = &InPlace,
};

}  // namespace tilescan::testing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilescan::testing {

std::span<const CeilingPasses> AllCeilingPasses() {
  static constexpr CeilingPasses kAll[] = {
#if (HWY_TARGETS & HWY_SCALAR) != 0
    N_SCALAR::kPasses,
#endif
#if (HWY_TARGETS & HWY_EMU128) != 0
    N_EMU128::kPasses,
#endif
#if (HWY_TARGETS & HWY_NEON) != 0
    N_NEON::kPasses,
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
    N_AVX2::kPasses,
#endif
#if (HWY_TARGETS & HWY_AVX3) != 0
    N_AVX3::kPasses,
#endif
  };
  return kAll;
}

}  // namespace tilescan::testing
#endif  // HWY_ONCE
