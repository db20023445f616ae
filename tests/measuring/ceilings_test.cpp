// Ceilings: that they measure something. How much depends on the machine and on who else uses it.
#include "testing/ceilings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hwy/targets.h"
#include "testing/ceiling_passes.h"
#include "testing/target.h"

namespace tilescan::testing {
namespace {

constexpr SamplePolicy kQuick = {2, 0.002, 0.0, 0.0};

void ExpectRate(const Rate& rate, int64_t num_samples) {
  EXPECT_EQ(rate.repeats, num_samples);
  EXPECT_GT(rate.min, 0.0);
  EXPECT_LE(rate.min, rate.median);
  EXPECT_LE(rate.median, rate.max);
}

TEST(Ceilings, AreMeasuredForEveryInstructionSetOfTheLibrary) {
  for (const Target& target : AvailableTargets("scan_forward")) {
    if (target.instruction_set.empty()) continue;
    SCOPED_TRACE(target.Name());
    ExpectRate(MeasureMultiplyAdd(target.instruction_set, 2, kQuick), 2);
  }
}

TEST(Ceilings, AreNothingForAnUnknownInstructionSet) {
  EXPECT_EQ(MeasureMultiplyAdd("avx1024", 2, kQuick).repeats, 0);
}

TEST(Ceilings, AreMeasuredForMemory) {
  for (const int64_t num_bytes : {int64_t{1}, int64_t{64 * 1024}, int64_t{8'000'001}}) {
    ExpectRate(MeasureCopy(num_bytes, 2, kQuick), 2);
    ExpectRate(MeasureInPlace(num_bytes, 2, kQuick), 2);
  }
}

TEST(Ceilings, AreKept) {
  Ceilings ceilings(kQuick);
  const std::string instruction_set = AllCeilingPasses().front().instruction_set;
  const Rate first = ceilings.MultiplyAdd(instruction_set);
  EXPECT_EQ(ceilings.MultiplyAdd(instruction_set).median, first.median);
  ceilings.MultiplyAdd("avx1024");
  ASSERT_EQ(ceilings.measured().size(), 1u);
  EXPECT_EQ(ceilings.measured().begin()->first, "multiply_add_gflops_" + instruction_set);
}

// The passes do what is counted: every element is copied, or scaled once.
TEST(CeilingPasses, TouchEveryElementOnce) {
  for (const CeilingPasses& passes : AllCeilingPasses()) {
    if (!passes.is_baseline && (hwy::SupportedTargets() & passes.hwy_target) == 0) continue;
    SCOPED_TRACE(passes.instruction_set);
    constexpr int64_t kCount = 3 * kPassGranule;
    alignas(64) float from[kCount];
    alignas(64) float to[kCount + 1] = {};
    for (int64_t idx = 0; idx < kCount; ++idx) from[idx] = static_cast<float>(idx + 1);
    passes.copy(from, kCount, to);
    passes.in_place(from, kCount);
    for (int64_t idx = 0; idx < kCount; ++idx) {
      EXPECT_EQ(to[idx], static_cast<float>(idx + 1));
      EXPECT_EQ(from[idx], 0.999f * static_cast<float>(idx + 1));
    }
    EXPECT_EQ(to[kCount], 0.0f);
  }
}

// With a seed of 1 a round adds 2 * 1 to each accumulator. They begin at 1 + 0, 1 + 1, ..., 1 + 11:
// 5.5 more than 1 in the mean.
TEST(CeilingPasses, MultiplyAndAddAsOftenAsCounted) {
  for (const CeilingPasses& passes : AllCeilingPasses()) {
    if (!passes.is_baseline && (hwy::SupportedTargets() & passes.hwy_target) == 0) continue;
    const double num_accumulators = passes.flops_a_round / 2.0;
    EXPECT_EQ(passes.multiply_add(10, 1.0f), num_accumulators * (1.0 + 5.5 + 2.0 * 10))
        << passes.instruction_set;
  }
}

}  // namespace
}  // namespace tilescan::testing
