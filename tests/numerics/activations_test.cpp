#include "numerics/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tilescan::numerics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

long double ExactSoftplus(long double value) {
  return value > 20.0L ? value : std::log1p(std::exp(value));
}
long double ExactSigmoid(long double value) { return 1.0L / (1.0L + std::exp(-value)); }
long double ExactSilu(long double value) { return value * ExactSigmoid(value); }

// |result - exact| in units of the last place of exact, denormal spacing included.
template <typename Real>
double ErrorInUlp(Real result, long double exact) {
  const Real rounded = std::fabs(static_cast<Real>(exact));
  const Real next = std::nextafter(rounded, std::numeric_limits<Real>::infinity());
  return static_cast<double>(std::fabs(result - exact) /
                             (static_cast<long double>(next) - rounded));
}

// A ladder of floats of both signs, from the tiniest to beyond where every function saturates.
template <typename Real>
std::vector<Real> Ladder() {
  std::vector<Real> values = {Real{0}, -Real{0}, Real{20}, std::nextafter(Real{20}, Real{21})};
  for (double magnitude = 1e-30; magnitude < 2000.0; magnitude *= 1.0103) {
    values.push_back(static_cast<Real>(magnitude));
    values.push_back(static_cast<Real>(-magnitude));
  }
  for (int step = -30000; step <= 30000; ++step) values.push_back(static_cast<Real>(step * 0.0041));
  return values;
}

template <typename Real>
class Activations : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Activations, Reals);

TYPED_TEST(Activations, SoftplusIsWithinItsBound) {
  for (const TypeParam value : Ladder<TypeParam>()) {
    EXPECT_LE(ErrorInUlp(Softplus(value), ExactSoftplus(value)), 4.0) << value;
  }
}

TYPED_TEST(Activations, SigmoidIsWithinItsBound) {
  for (const TypeParam value : Ladder<TypeParam>()) {
    EXPECT_LE(ErrorInUlp(Sigmoid(value), ExactSigmoid(value)), 3.0) << value;
  }
}

TYPED_TEST(Activations, SiluIsWithinItsBound) {
  const TypeParam denormal_step = std::numeric_limits<TypeParam>::denorm_min();
  const TypeParam lowest = std::log(std::numeric_limits<TypeParam>::min()) + TypeParam{1};
  for (const TypeParam value : Ladder<TypeParam>()) {
    if (value >= lowest) {
      EXPECT_LE(ErrorInUlp(Silu(value), ExactSilu(value)), 4.0) << value;
    } else {
      const long double bound = 2 * std::fabs(value) * static_cast<long double>(denormal_step);
      EXPECT_LE(std::fabs(Silu(value) - ExactSilu(value)), bound) << value;
    }
  }
}

TYPED_TEST(Activations, EndsOfTheRange) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_EQ(Softplus(-infinity), TypeParam{0});
  EXPECT_EQ(Softplus(infinity), infinity);
  EXPECT_TRUE(std::isnan(Softplus(nan)));
  EXPECT_EQ(Sigmoid(-infinity), TypeParam{0});
  EXPECT_EQ(Sigmoid(infinity), TypeParam{1});
  EXPECT_TRUE(std::isnan(Sigmoid(nan)));
  EXPECT_EQ(Silu(infinity), infinity);
  EXPECT_TRUE(std::isnan(Silu(-infinity)));
  EXPECT_TRUE(std::isnan(Silu(nan)));
}

// Figures from a float64 computation of log1p(exp(dt)). The input that broke others: dt that
// log(1 + exp(dt)) turns into 0.
TEST(Softplus, ExtremeSteps) {
  const std::vector<std::pair<float, double>> in_normal_range = {
      {-87.0f, 1.6458e-38}, {-20.0f, 2.0611536e-9}, {-17.0f, 4.1399376e-8}, {-10.0f, 4.5398899e-5},
      {0.0f, 0.69314718},   {19.9f, 19.9},          {20.1f, 20.1},          {80.0f, 80.0},
      {89.0f, 89.0},        {200.0f, 200.0},        {1000.0f, 1000.0}};
  for (const auto& [dt, expected] : in_normal_range) {
    // The digits given are 8 at most, -87's are 5.
    const double relative = dt == -87.0f ? 3e-5 : 1e-6;
    EXPECT_NEAR(Softplus(dt), expected, relative * expected) << dt;
    EXPECT_LE(std::fabs(Softplus(dt) - ExactSoftplus(dt)), 1e-6L * ExactSoftplus(dt)) << dt;
  }
  EXPECT_GE(Softplus(-200.0f), 0.0f);
  EXPECT_LE(Softplus(-200.0f), 1e-45f);
  EXPECT_GE(Softplus(-100.0f), 0.0f);
  EXPECT_LE(Softplus(-100.0f), 3.8e-44f);
}

// The derivative of softplus is sigmoid: in [0, 1] and finite everywhere.
TEST(Softplus, ItsDerivativeStaysWithinZeroAndOne) {
  for (const float dt : {-200.0f, -100.0f, -87.0f, -20.0f, -17.0f, -10.0f, 0.0f, 19.9f, 20.1f,
                         80.0f, 89.0f, 200.0f, 1000.0f}) {
    EXPECT_GE(Sigmoid(dt), 0.0f) << dt;
    EXPECT_LE(Sigmoid(dt), 1.0f) << dt;
  }
  EXPECT_EQ(Sigmoid(-kInfinity), 0.0);
}

}  // namespace
}  // namespace tilescan::numerics
