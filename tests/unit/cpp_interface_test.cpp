// The C++ interface over the C one. Includes internals too: their names must not clash with it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "plan/planner.h"
#include "tilescan/tilescan.hpp"

namespace tilescan {
namespace {

std::string MessageOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), TILESCAN_INVALID_ARGUMENT);
    return error.what();
  }
  return "";
}

TEST(MakeTensor, DescribesACompactArray) {
  float memory[24];
  const tilescan_tensor tensor = MakeTensor(memory, {2, 3, 4});
  EXPECT_EQ(tensor.data, memory);
  EXPECT_EQ(tensor.dtype.code, TILESCAN_DTYPE_FLOAT);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  EXPECT_EQ(tensor.ndim, 3);
  EXPECT_EQ(tensor.strides[0], 12);
  EXPECT_EQ(tensor.strides[1], 4);
  EXPECT_EQ(tensor.strides[2], 1);
}

TEST(MakeTensor, DescribesAStridedArray) {
  const double memory[24] = {};
  const tilescan_tensor tensor = MakeTensor(memory + 23, {3, 4}, {-4, -1});
  EXPECT_EQ(tensor.dtype.bits, 64);
  EXPECT_EQ(tensor.strides[0], -4);
  EXPECT_EQ(tensor.strides[1], -1);
}

TEST(MakeTensor, KnowsTheDTypesOfCpp) {
  EXPECT_EQ(DTypeOf<bool>().code, TILESCAN_DTYPE_BOOL);
  EXPECT_EQ(DTypeOf<uint8_t>().code, TILESCAN_DTYPE_UINT);
  EXPECT_EQ(DTypeOf<int32_t>().bits, 32);
  EXPECT_EQ(DTypeOf<int64_t>().bits, 64);
  EXPECT_EQ(DTypeOf<double>().bits, 64);
}

TEST(MakeTensor, TakesADTypeByName) {
  uint16_t memory[6];
  const tilescan_tensor tensor = MakeTensor(memory, tilescan_bfloat16(), {2, 3});
  EXPECT_EQ(tensor.dtype.code, TILESCAN_DTYPE_BFLOAT);
  EXPECT_EQ(tensor.dtype.bits, 16);
}

TEST(MakeTensor, ComparesASpanWithTheShape) {
  std::vector<float> memory(6);
  EXPECT_EQ(MakeTensor(std::span(memory), {2, 3}).ndim, 2);
  EXPECT_EQ(MessageOf([&] {
              MakeTensor(std::span(memory), {2, 4});
            }),
            "MakeTensor: the span has 6 elements, expected 8 as the shape");
}

TEST(MakeTensor, RefusesTooManyDimensions) {
  EXPECT_EQ(MessageOf([] {
              MakeTensor<float>(nullptr, {1, 1, 1, 1, 1, 1});
            }),
            "MakeTensor: shape has 6 dimensions, expected at most 5");
}

TEST(MakeTensor, RefusesStridesOfAnotherNdim) {
  EXPECT_EQ(MessageOf([] {
              MakeTensor<float>(nullptr, {1, 1}, {1});
            }),
            "MakeTensor: strides has 1 dimensions, expected 2, as shape");
}

struct SmallUpdate {
  std::vector<float> state = std::vector<float>(2 * 3);
  std::vector<float> x = {1, 2}, dt = {0.5f}, A = {-1}, B = {1, 1, 1}, C = {1, 2, 3};
  std::vector<float> out = std::vector<float>(2);
  StateUpdateArgs args;

  SmallUpdate() {
    args.state = MakeTensor(state.data(), {1, 1, 2, 3});
    args.x = MakeTensor(x.data(), {1, 1, 2});
    args.dt = MakeTensor(dt.data(), {1, 1});
    args.A = MakeTensor(A.data(), {1});
    args.B = MakeTensor(B.data(), {1, 1, 3});
    args.C = MakeTensor(C.data(), {1, 1, 3});
    args.out = MakeTensor(out.data(), {1, 1, 2});
  }
};

TEST(Plan, RunsAStep) {
  SmallUpdate update;
  RunOnce(update.args);
  // From a zero state: state = dt x B, out = dt x (B . C).
  EXPECT_EQ(update.out, (std::vector<float>{3, 6}));
  EXPECT_EQ(update.state, (std::vector<float>{0.5f, 0.5f, 0.5f, 1, 1, 1}));
}

TEST(Plan, RunsWithOptions) {
  SmallUpdate update;
  PlanOptions options;
  options.backend = "reference";
  const Plan plan(update.args, &options);
  EXPECT_EQ(nlohmann::json::parse(plan.Describe())["backend"], "reference");
  std::vector<std::byte> workspace(plan.workspace_bytes());
  plan.Run(update.args, workspace);
  EXPECT_EQ(update.out, (std::vector<float>{3, 6}));
}

TEST(Plan, RunsTheOperationsAroundTheScan) {
  std::vector<float> x = {1, 2, 3};
  const std::vector<float> weight = {10, 1};
  std::vector<float> out(3);
  CausalConv1dForwardArgs conv;
  conv.x = MakeTensor(x.data(), {1, 3, 1});
  conv.weight = MakeTensor(weight.data(), {1, 2});
  conv.out = MakeTensor(out.data(), {1, 3, 1});
  RunOnce(conv);
  EXPECT_EQ(out, (std::vector<float>{1, 12, 23}));

  std::vector<float> conv_state = {4, 5};
  CausalConv1dUpdateArgs update;
  update.conv_state = MakeTensor(conv_state.data(), {1, 1, 2});
  update.x = MakeTensor(x.data(), {1, 1});
  update.weight = conv.weight;
  update.out = MakeTensor(out.data(), {1, 1});
  RunOnce(update);
  EXPECT_EQ(out[0], 51);
  EXPECT_EQ(conv_state, (std::vector<float>{5, 1}));

  // The root of the mean square of 3 and -4, with eps -> 0, is 5 / sqrt(2).
  std::vector<float> y = {3, -4};
  const std::vector<float> ones = {1, 1};
  RmsNormGatedForwardArgs norm;
  norm.x = norm.out = MakeTensor(y.data(), {1, 2});
  norm.weight = MakeTensor(ones.data(), {2});
  norm.eps = 0;
  const Plan plan(norm);
  std::vector<std::byte> workspace(plan.workspace_bytes());
  plan.Run(norm, workspace);
  EXPECT_NEAR(y[0], 0.6 * std::sqrt(2.0), 1e-6);  // a few roundings of fp32
  EXPECT_NEAR(y[1], -0.8 * std::sqrt(2.0), 1e-6);
}

TEST(Plan, RunsALayer) {
  // Per token z, x, B, C, dt of one channel, of which the convolution takes x, B and C as they are.
  const std::vector<float> zxbcdt = {0, 3, 2, 5, 0.5f, 0, 7, 1, 2, 0.25f};
  const std::vector<float> weight = {0, 1, 0, 1, 0, 1};
  const std::vector<float> A = {0};
  const std::vector<float> one = {1};
  std::vector<float> out(2);
  std::vector<float> state(1);
  SplitConv1dScanForwardArgs args;
  args.zxbcdt = MakeTensor(zxbcdt.data(), {1, 2, 5});
  args.conv1d_weight = MakeTensor(weight.data(), {3, 2});
  args.A = MakeTensor(A.data(), {1});
  args.rmsnorm_weight = MakeTensor(one.data(), {1});
  args.out = MakeTensor(out.data(), {1, 2, 1});
  args.final_states = MakeTensor(state.data(), {1, 1, 1, 1});
  args.norm_before_gate = 1;
  RunOnce(args);
  // state = 0.5 * 3 * 2, then + 0.25 * 7 * 1. A gate of 0 closes.
  EXPECT_EQ(state[0], 4.75f);
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
  args.rmsnorm_weight = {};
  const std::vector<float> open = {20, 3, 2, 5, 0.5f, 20, 7, 1, 2, 0.25f};
  args.zxbcdt = MakeTensor(open.data(), {1, 2, 5});
  const Plan plan(args);
  std::vector<std::byte> workspace(plan.workspace_bytes());
  plan.Run(args, workspace);
  // state * C * silu(20), with 1 - silu(20) / 20 = 2e-9.
  EXPECT_NEAR(out[0], 3 * 5 * 20, 1e-4);
  EXPECT_NEAR(out[1], 4.75 * 2 * 20, 1e-4);
}

TEST(Plan, ThrowsTheMessage) {
  SmallUpdate update;
  update.args.dt_softplus = 2;
  EXPECT_EQ(MessageOf([&] { Plan plan(update.args); }),
            "state_update: dt_softplus is 2, expected 0 or 1");
  update.args.dt_softplus = 0;
  const Plan plan(update.args);
  EXPECT_EQ(MessageOf([&] { plan.Run(ScanForwardArgs(), {}); }),
            "scan_forward: plan is of state_update");
}

TEST(Plan, Moves) {
  SmallUpdate update;
  Plan first(update.args);
  const tilescan_plan* const plan = first.get();
  Plan second(std::move(first));
  EXPECT_EQ(second.get(), plan);
  Plan third(update.args);
  third = std::move(second);
  EXPECT_EQ(third.get(), plan);
  EXPECT_EQ(second.get(), nullptr);
  static_assert(!std::is_copy_constructible_v<Plan> && !std::is_copy_assignable_v<Plan>);
}

TEST(Prepare, ThrowsWhereThereIsNoGpu) {
  const bool has_gpu = nlohmann::json::parse(Info()).at("cuda").at("available");
  try {
    Prepare();
    EXPECT_TRUE(has_gpu);
  } catch (const Error& error) {
    EXPECT_FALSE(has_gpu);
    EXPECT_EQ(error.status(), TILESCAN_UNSUPPORTED);
    EXPECT_EQ(std::string(error.what()).rfind("prepare: ", 0), 0u) << error.what();
  }
}

TEST(Info, IsJson) { EXPECT_TRUE(nlohmann::json::parse(Info()).contains("cpu")); }

}  // namespace
}  // namespace tilescan
