// Calls with wrong indices say what is wrong and leave outputs as they were.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/check_indices.h"
#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

ConvCase PackedCase(std::vector<int64_t> cu_seqlens) {
  ConvCase c = RandomConvCase("failure", 1, 12, 8, 6200);
  c.cu_seqlens = std::move(cu_seqlens);
  return c;
}

ConvUpdateCase SlotCase(std::vector<int64_t> slots, std::vector<int32_t> cache_seqlens = {}) {
  ConvUpdateCase c =
      RandomConvUpdateCase("failure", static_cast<int64_t>(slots.size()), 0, 8, 6201);
  c.num_slots = 6;
  c.conv_state_indices = std::move(slots);
  c.cache_seqlens = std::move(cache_seqlens);
  return c;
}

template <typename Case>
std::string MessageFor(const Case& c) {
  const auto operands = BuildOperands(c, Layout::kSpread);
  return CheckIndices(MakeProblem(operands)).message();
}

TEST(CheckLayerIndices, RightValuesPass) {
  EXPECT_EQ(MessageFor(PackedCase({0, 5, 5, 12})), "");
  EXPECT_EQ(MessageFor(SlotCase({5, -1, -1, 0})), "");
  EXPECT_EQ(MessageFor(SlotCase({5, -1, 2}, {0, -3, 100})), "");
}

TEST(CheckLayerIndices, WrongValuesAreNamed) {
  EXPECT_EQ(MessageFor(PackedCase({0, 7, 5, 12})),
            "causal_conv1d_forward: cu_seqlens[2] is 5, expected at least cu_seqlens[1], which is "
            "7");
  EXPECT_EQ(MessageFor(PackedCase({0, 13})),
            "causal_conv1d_forward: cu_seqlens[1] is 13, expected seqlen, which is 12");
  EXPECT_EQ(MessageFor(SlotCase({0, 6, 0})),
            "causal_conv1d_update: conv_state_indices[1] is 6, expected less than slots, which is "
            "6; conv_state_indices[2] is 0, expected each slot once: conv_state_indices[0] is the "
            "same");
  EXPECT_EQ(MessageFor(SlotCase({0, 1}, {2, -1})),
            "causal_conv1d_update: cache_seqlens[1] is -1, expected 0 or more");
}

template <typename Case>
void ExpectRefused(const Case& c, const Target& target) {
  const auto operands = BuildOperands(c);
  const auto before = Copy(operands);
  const RunResult result = RunCall(operands, target.Options());
  EXPECT_EQ(result.status, TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(result.message, CheckIndices(MakeProblem(operands)).message());
  ExpectSameBits(operands, before, result.message);
  EXPECT_TRUE(result.surroundings_intact);
}

class ConvFailureOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvFailureOn, WrongSequencesLeaveOutUntouched) {
  ExpectRefused(PackedCase({0, 13}), GetParam());
  ExpectRefused(PackedCase({1, 12}), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvFailureOn,
                         ::testing::ValuesIn(HostTargets(ConvOperands::kOperation)), NameOfTest());

class ConvUpdateFailureOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvUpdateFailureOn, WrongSlotsLeaveStateAndOutUntouched) {
  ExpectRefused(SlotCase({0, 6, 1}), GetParam());
  ExpectRefused(SlotCase({0, 1, 1}), GetParam());
  ExpectRefused(SlotCase({0, 1, 2}, {0, -1, 2}), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvUpdateFailureOn,
                         ::testing::ValuesIn(HostTargets(ConvUpdateOperands::kOperation)),
                         NameOfTest());

class SplitFailureOn : public ::testing::TestWithParam<Target> {};

TEST_P(SplitFailureOn, WrongSequencesLeaveOutputsUntouched) {
  SplitCase c = RandomSplitCase("failure", {1, 12, 2, 4, 1, 4}, 6202);
  AddOptionalOperands(&c, 6202);
  c.cu_seqlens = {0, 13};
  const SplitOperands operands = BuildOperands(c);
  const SplitOperands before = Copy(operands);
  const RunResult result = RunCall(operands, GetParam().Options());
  EXPECT_EQ(result.status, TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(result.message,
            "split_conv1d_scan_forward: cu_seqlens[1] is 13, expected seqlen, which is 12");
  ExpectSameBits(operands, before, result.message);
  EXPECT_TRUE(result.surroundings_intact);
}

INSTANTIATE_TEST_SUITE_P(All, SplitFailureOn,
                         ::testing::ValuesIn(HostTargets(SplitOperands::kOperation)), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
