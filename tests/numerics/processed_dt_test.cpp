#include "numerics/processed_dt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilescan::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Real>
class ProcessedDtOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ProcessedDtOf, Reals);

TYPED_TEST(ProcessedDtOf, StepsComeInOrder) {
  const TypeParam dt{-2.5};
  const TypeParam dt_bias{3};
  // The bias before softplus, the clamp after it.
  const DtOptions softplus{true, 0.0f, kInfinity};
  EXPECT_EQ(ProcessedDt(dt, dt_bias, softplus), Softplus(TypeParam{0.5}));
  const DtOptions clamped{true, 0.0f, 0.75f};
  EXPECT_EQ(ProcessedDt(dt, dt_bias, clamped), TypeParam{0.75});
  const DtOptions lifted{true, 1.25f, 2.0f};
  EXPECT_EQ(ProcessedDt(dt, dt_bias, lifted), TypeParam{1.25});
  const DtOptions plain{false, -kInfinity, kInfinity};
  EXPECT_EQ(ProcessedDt(dt, dt_bias, plain), TypeParam{0.5});
}

TYPED_TEST(ProcessedDtOf, DefaultLimitStopsNegativeSteps) {
  const DtOptions plain{false, 0.0f, kInfinity};
  EXPECT_EQ(ProcessedDt(TypeParam{-1}, TypeParam{0}, plain), TypeParam{0});
  EXPECT_EQ(ProcessedDt(TypeParam{1e30}, TypeParam{0}, plain), TypeParam{1e30});
  const DtOptions open{false, -kInfinity, kInfinity};
  EXPECT_EQ(ProcessedDt(TypeParam{-1}, TypeParam{0}, open), TypeParam{-1});
}

TYPED_TEST(ProcessedDtOf, LimitsAreReachedNotPassed) {
  const DtOptions options{false, 0.25f, 0.5f};
  EXPECT_EQ(ProcessedDt(TypeParam{0.25}, TypeParam{0}, options), TypeParam{0.25});
  EXPECT_EQ(ProcessedDt(TypeParam{0.5}, TypeParam{0}, options), TypeParam{0.5});
  EXPECT_EQ(ProcessedDt(TypeParam{0.375}, TypeParam{0}, options), TypeParam{0.375});
}

TYPED_TEST(ProcessedDtOf, NanPassesEveryStep) {
  for (const bool dt_softplus : {false, true}) {
    const DtOptions options{dt_softplus, 0.0f, 1.0f};
    EXPECT_TRUE(std::isnan(ProcessedDt(static_cast<TypeParam>(kNan), TypeParam{0}, options)));
    EXPECT_TRUE(std::isnan(ProcessedDt(TypeParam{0}, static_cast<TypeParam>(kNan), options)));
  }
}

TYPED_TEST(ProcessedDtOf, InfiniteStepsAreClamped) {
  const DtOptions options{true, 0.001f, 100.0f};
  EXPECT_EQ(ProcessedDt(static_cast<TypeParam>(kInfinity), TypeParam{0}, options), TypeParam{100});
  EXPECT_EQ(ProcessedDt(static_cast<TypeParam>(-kInfinity), TypeParam{0}, options),
            static_cast<TypeParam>(0.001f));
}

}  // namespace
}  // namespace tilescan::numerics
