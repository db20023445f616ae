// Several tokens in one call, and the decoding step against the scan.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "testing/verify.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class TokensOn : public ::testing::TestWithParam<Target> {
 protected:
  static constexpr int64_t kNumTokens = 4;

  // A state that loses nothing when it is written and read again: that of the arithmetic.
  static StateUpdateCase TokensCase(const Target& target) {
    StateUpdateCase c = RandomStateUpdateCase("tokens", {2, kNumTokens, 4, 24, 2, 40}, 1800);
    AddOptionalOperands(&c, 1800);
    if (target.backend == "reference") {
      c.state_dtype = c.x_dtype = c.dt_dtype = c.B_dtype = c.C_dtype = c.z_dtype = c.out_dtype =
          c.weight_dtype = DType::kFloat64;
    }
    return c;
  }

  static HostTensor Counts(std::vector<int32_t> counts) {
    HostTensor tensor(DType::kInt32, {static_cast<int64_t>(counts.size())});
    for (size_t idx = 0; idx < counts.size(); ++idx) {
      tensor.Set(static_cast<int64_t>(idx), counts[idx]);
    }
    return tensor;
  }
};

TEST_P(TokensOn, SeveralTokensAreAsManySteps) {
  const StateUpdateOperands unsolved = BuildOperands(TokensCase(GetParam()));
  const StateUpdateOperands together = Copy(unsolved);
  ExpectRun(together, GetParam());
  HostTensor state = WithLayout(unsolved.state, Layout::kCompact);
  for (int64_t token = 0; token < kNumTokens; ++token) {
    StateUpdateOperands step = SelectTokens(unsolved, {token});
    step.state = std::move(state);
    ExpectRun(step, GetParam());
    EXPECT_TRUE(step.out.HasSameBits(Select(together.out, 1, {token}))) << "token " << token;
    state = std::move(step.state);
  }
  EXPECT_TRUE(state.HasSameBits(together.state));
}

// Two of four tokens accepted: the state of two plain steps, whatever the rejected tokens hold.
TEST_P(TokensOn, RejectedTokensNeverReachTheState) {
  StateUpdateOperands unsolved = BuildOperands(TokensCase(GetParam()));
  const StateUpdateOperands accepted = SelectTokens(unsolved, {0, 1});
  ExpectRun(accepted, GetParam());
  for (HostTensor* tensor : {&unsolved.x, &unsolved.dt, &unsolved.B, &unsolved.C, &unsolved.z}) {
    const int64_t row_size = tensor->num_elements() / 2;
    for (int64_t idx = 0; idx < tensor->num_elements(); ++idx) {
      if (idx % row_size >= row_size / 2) tensor->Set(idx, kNan);
    }
  }
  unsolved.num_accepted = Counts({2, 2});
  ExpectRun(unsolved, GetParam());
  EXPECT_TRUE(unsolved.state.HasSameBits(accepted.state));
  EXPECT_TRUE(Select(unsolved.out, 1, {0, 1}).HasSameBits(accepted.out));
  EXPECT_TRUE(std::isnan(Select(unsolved.out, 1, {2}).Get(0)));
}

// To verify drafts: call with 0, look at out, call again with the count.
TEST_P(TokensOn, VerifyingDraftsTakesTwoCalls) {
  StateUpdateOperands operands = BuildOperands(TokensCase(GetParam()));
  const StateUpdateOperands before = Copy(operands);
  const StateUpdateOperands all = Copy(operands);
  ExpectRun(all, GetParam());
  operands.num_accepted = Counts({0, 0});
  ExpectRun(operands, GetParam());
  EXPECT_TRUE(operands.state.HasSameBits(before.state));
  EXPECT_TRUE(operands.out.HasSameBits(all.out));

  operands.num_accepted = Counts({3, 1});
  ExpectRun(operands, GetParam());
  EXPECT_TRUE(operands.out.HasSameBits(all.out));
  const StateUpdateOperands three = SelectTokens(before, {0, 1, 2});
  ExpectRun(three, GetParam());
  const StateUpdateOperands one = SelectTokens(before, {0});
  ExpectRun(one, GetParam());
  EXPECT_TRUE(Select(operands.state, 0, {0}).HasSameBits(Select(three.state, 0, {0})));
  EXPECT_TRUE(Select(operands.state, 0, {1}).HasSameBits(Select(one.state, 0, {1})));
}

// A state that no token reaches keeps its bits even where reading and writing would change them.
TEST_P(TokensOn, NoAcceptedTokenLeavesTheBitsOfTheState) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    StateUpdateCase c = TokensCase(Target{});
    c.state_dtype = dtype;
    c.num_accepted = {0, 0};
    StateUpdateOperands operands = BuildOperands(c);
    for (int64_t idx = 0; idx < operands.state.num_elements(); ++idx) {
      operands.state.SetBits(idx, 0x7f810001u * static_cast<uint64_t>(idx + 1));
    }
    const StateUpdateOperands before = Copy(operands);
    ExpectRun(operands, GetParam());
    EXPECT_TRUE(operands.state.HasSameBits(before.state)) << DTypeName(dtype);
  }
}

// A fresh slot whose bits are NaN: the new state is that of a slot of zeros.
TEST_P(TokensOn, FreshIsASlotOfZeros) {
  StateUpdateCase c = TokensCase(GetParam());
  StateUpdateCase zeros = c;
  zeros.state = Constant(0);
  const StateUpdateOperands expected = Solve(zeros, GetParam());
  c.state = Constant(kNan);
  c.fresh = {1, 1};
  ExpectSameBits(Solve(c, GetParam()), expected, "fresh");
}

// Zeros stay zeros where exp(dt A) is beyond fp32: the new state is dt x B^T.
TEST_P(TokensOn, FreshOutlivesAnInfiniteDecay) {
  StateUpdateCase c;
  c.name = "tokens/infinite_decay";
  c.headdim = 5;
  c.dstate = 7;
  c.state = Constant(3);
  c.x = Repeat({1, 2, 3, 4, 5});
  c.dt = Constant(50);
  c.A = Constant(2);
  c.B = Constant(2);
  c.C = Constant(1);
  c.fresh = {1};
  const StateUpdateOperands operands = Solve(c, GetParam());
  for (int64_t row = 0; row < c.headdim; ++row) {
    const double element = 50.0 * static_cast<double>(row + 1) * 2;
    EXPECT_EQ(operands.out.Get(row), 7 * element);
    for (int64_t n = 0; n < c.dstate; ++n) {
      EXPECT_EQ(operands.state.Get(row * c.dstate + n), element);
    }
  }
}

TEST_P(TokensOn, FreshWithNoAcceptedTokenIsZeros) {
  StateUpdateCase c = TokensCase(GetParam());
  c.state = Constant(kNan);
  c.fresh = {1, 1};
  c.num_accepted = {0, 0};
  const StateUpdateOperands operands = Solve(c, GetParam());
  for (int64_t idx = 0; idx < operands.state.num_elements(); ++idx) {
    ASSERT_EQ(operands.state.Bits(idx), 0u);
  }
}

// Decoding token by token is the scan: both within their limits of one truth.
TEST_P(TokensOn, StepsFollowTheScan) {
  ScanCase scan = RandomScanCase("steps", {2, 20, 4, 24, 2, 40}, 1801);
  AddOptionalOperands(&scan, 1801);
  const ScanOperands whole = BuildOperands(scan);
  ScanOperands solved = Copy(whole);
  HostTensor state = WithLayout(whole.initial_states, Layout::kCompact);
  for (int64_t token = 0; token < scan.seqlen; ++token) {
    const ScanOperands one = SelectTokens(whole, {token});
    StateUpdateOperands step;
    step.options = one.options;
    step.state = std::move(state);
    step.x = WithLayout(one.x, Layout::kCompact);
    step.dt = WithLayout(one.dt, Layout::kCompact);
    step.A = WithLayout(one.A, Layout::kCompact);
    step.B = WithLayout(one.B, Layout::kCompact);
    step.C = WithLayout(one.C, Layout::kCompact);
    step.D = WithLayout(one.D, Layout::kCompact);
    step.z = WithLayout(one.z, Layout::kCompact);
    step.dt_bias = WithLayout(one.dt_bias, Layout::kCompact);
    step.out = WithLayout(one.out, Layout::kCompact);
    ExpectRun(step, GetParam());
    const int64_t token_size = step.out.num_elements() / 2;
    for (int64_t idx = 0; idx < step.out.num_elements(); ++idx) {
      const int64_t row = idx / token_size;
      solved.out.SetBits((row * scan.seqlen + token) * token_size + idx % token_size,
                         step.out.Bits(idx));
    }
    state = std::move(step.state);
  }
  solved.final_states.Assign(state);
  // Between steps the reference's state is rounded to float32, so it is held to float32 limits.
  Target in_float32;
  in_float32.backend = "cpu";
  EXPECT_EQ(Complaints(whole, solved, in_float32), "");
}

INSTANTIATE_TEST_SUITE_P(All, TokensOn, ::testing::ValuesIn(AvailableTargets("state_update")),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
