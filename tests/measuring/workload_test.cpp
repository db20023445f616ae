// The timed problems: their inputs are what the comments promise, and their work is counted right.
#include "testing/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tilescan::testing {
namespace {

constexpr ModelPreset kTiny = {"tiny", 4, 8, 16, 2, 64, 3};

void ExpectWithin(const HostTensor& tensor, double low, double high, const char* name) {
  double smallest = INFINITY;
  double largest = -INFINITY;
  for (int64_t idx = 0; idx < tensor.num_elements(); ++idx) {
    smallest = std::min(smallest, tensor.Get(idx));
    largest = std::max(largest, tensor.Get(idx));
  }
  EXPECT_GE(smallest, low) << name;
  EXPECT_LE(largest, high) << name;
  // Spread over the range, not a constant in it.
  EXPECT_GT(largest - smallest, 0.5 * (high - low)) << name;
}

TEST(ScanWorkload, HasTheInputsOfAModel) {
  const ScanOperands operands = ScanWorkload(kTiny, 2, 300, {});
  EXPECT_EQ(operands.x.shape(), (std::vector<int64_t>{2, 300, 4, 8}));
  EXPECT_EQ(operands.B.shape(), (std::vector<int64_t>{2, 300, 2, 16}));
  EXPECT_EQ(operands.final_states.shape(), (std::vector<int64_t>{2, 4, 8, 16}));
  ExpectWithin(operands.x, -1.0, 1.0, "x");
  ExpectWithin(operands.B, -1.0, 1.0, "B");
  ExpectWithin(operands.C, -1.0, 1.0, "C");
  ExpectWithin(operands.initial_states, -0.1, 0.1, "initial_states");
  EXPECT_TRUE(operands.options.dt_softplus);
  EXPECT_FALSE(operands.D.present());
  EXPECT_FALSE(operands.z.present());
  EXPECT_FALSE(operands.dt_bias.present());
  for (int64_t idx = 0; idx < operands.A.num_elements(); ++idx) {
    EXPECT_GE(operands.A.Get(idx), -16.0);
    EXPECT_LE(operands.A.Get(idx), -1.0);
  }
}

TEST(ScanWorkload, HasStepsLogUniformAfterSoftplus) {
  const ScanOperands operands = ScanWorkload(kTiny, 1, 1000, {});
  double log_sum = 0.0;
  for (int64_t idx = 0; idx < operands.dt.num_elements(); ++idx) {
    const double step = std::log1p(std::exp(operands.dt.Get(idx)));
    EXPECT_GT(step, 0.00099);
    EXPECT_LT(step, 0.101);
    log_sum += std::log10(step);
  }
  // The mean of a uniform log10 in [-3, -1], of 4000 values: 0.05 is 5 standard errors.
  EXPECT_NEAR(log_sum / static_cast<double>(operands.dt.num_elements()), -2.0, 0.05);
}

TEST(ScanWorkload, HasTheDTypesAsked) {
  const ScanOperands operands = ScanWorkload(kTiny, 1, 5, {DType::kBFloat16, DType::kFloat16});
  for (const HostTensor* tensor : {&operands.x, &operands.B, &operands.C, &operands.out}) {
    EXPECT_EQ(tensor->dtype(), DType::kBFloat16);
  }
  EXPECT_EQ(operands.dt.dtype(), DType::kFloat32);
  EXPECT_EQ(operands.initial_states.dtype(), DType::kFloat16);
  EXPECT_EQ(operands.final_states.dtype(), DType::kFloat16);
}

TEST(StateUpdateWorkload, HasTheInputsOfAModel) {
  const StateUpdateOperands operands =
      StateUpdateWorkload(kTiny, 3, {DType::kFloat16, DType::kBFloat16});
  EXPECT_EQ(operands.x.shape(), (std::vector<int64_t>{3, 4, 8}));
  EXPECT_EQ(operands.state.shape(), (std::vector<int64_t>{3, 4, 8, 16}));
  EXPECT_EQ(operands.state.dtype(), DType::kBFloat16);
  for (const HostTensor* tensor : {&operands.x, &operands.B, &operands.C, &operands.out}) {
    EXPECT_EQ(tensor->dtype(), DType::kFloat16);
  }
  ExpectWithin(operands.state, -0.1001, 0.1001, "state");
  EXPECT_TRUE(operands.options.dt_softplus);
}

TEST(Workload, CountsTheRecurrence) {
  // 2 multiply-adds for each of 4 * 8 * 16 state elements and each of 10 tokens.
  EXPECT_EQ(RecurrenceFlops(kTiny, 10), 10.0 * 4 * 8 * 16 * 2 * 2);
  EXPECT_EQ(StateBytes(kTiny, 3, DType::kFloat32), 3.0 * 4 * 8 * 16 * 4);
  EXPECT_EQ(StateBytes(kTiny, 3, DType::kBFloat16), 3.0 * 4 * 8 * 16 * 2);
}

TEST(Workload, NamesItsCases) {
  EXPECT_EQ(ScanCaseName(kTiny, 1, 2048), "tiny/2048");
  EXPECT_EQ(ScanCaseName(kTiny, 4, 2048), "tiny/4x2048");
  EXPECT_EQ(StateUpdateCaseName(kTiny, 8, true), "tiny/decode-8/cold");
  EXPECT_EQ(StateUpdateCaseName(kTiny, 8, false), "tiny/decode-8/hot");
}

}  // namespace
}  // namespace tilescan::testing
