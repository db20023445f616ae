// Calls that fail say what is wrong and leave state and out as they were.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/check_indices.h"
#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

StateUpdateCase SlotCase(std::vector<int64_t> slots) {
  const auto batch = static_cast<int64_t>(slots.size());
  StateUpdateCase c = RandomStateUpdateCase("failure", {batch, 2, 2, 4, 1, 4}, 1900);
  c.num_slots = 6;
  c.state_batch_indices = std::move(slots);
  return c;
}

std::string MessageFor(const StateUpdateCase& c) {
  const StateUpdateOperands operands = BuildOperands(c, Layout::kSpread);
  return CheckIndices(MakeProblem(operands)).message();
}

TEST(CheckStateUpdateIndices, RightValuesPass) {
  EXPECT_EQ(MessageFor(SlotCase({5, 0, 3})), "");
  EXPECT_EQ(MessageFor(SlotCase({-1, -1, 2, -7, -7})), "");
  StateUpdateCase c = SlotCase({0, 1, 2});
  c.num_accepted = {0, 1, 2};
  EXPECT_EQ(MessageFor(c), "");
}

TEST(CheckStateUpdateIndices, SlotsInRange) {
  EXPECT_EQ(MessageFor(SlotCase({5, 6, 0})),
            "state_update: state_batch_indices[1] is 6, expected less than slots, which is 6");
  StateUpdateCase c = SlotCase({int64_t{1} << 40, 0});
  c.state_batch_indices_dtype = DType::kInt64;
  EXPECT_EQ(
      MessageFor(c),
      "state_update: state_batch_indices[0] is 1099511627776, expected less than slots, which "
      "is 6");
}

TEST(CheckStateUpdateIndices, SlotsOnce) {
  EXPECT_EQ(MessageFor(SlotCase({3, 0, 3})),
            "state_update: state_batch_indices[2] is 3, expected each slot once: "
            "state_batch_indices[0] is the same");
}

// More rows than the table of slots holds, with one slot used twice: wherever the two rows are.
TEST(CheckStateUpdateIndices, SlotsOnceAmongManyRows) {
  constexpr int64_t kBatch = 700;
  for (const auto& [first, second] :
       {std::pair<size_t, size_t>(0, 699), {0, 255}, {255, 256}, {256, 511}, {600, 601}}) {
    StateUpdateCase c = RandomStateUpdateCase("many", {kBatch, 0, 1, 1, 1, 1}, 1901);
    c.num_slots = 1000;
    c.state_batch_indices.resize(kBatch);
    for (int64_t row = 0; row < kBatch; ++row) {
      c.state_batch_indices[static_cast<size_t>(row)] = (row * 997 + 13) % 1000;
    }
    EXPECT_EQ(MessageFor(c), "");
    c.state_batch_indices[second] = c.state_batch_indices[first];
    const std::string message = MessageFor(c);
    EXPECT_NE(message.find("state_batch_indices[" + std::to_string(second) + "] is "),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("state_batch_indices[" + std::to_string(first) + "] is the same"),
              std::string::npos)
        << message;
  }
}

TEST(CheckStateUpdateIndices, AcceptedTokensInRange) {
  StateUpdateCase c = SlotCase({0, 1, 2});
  c.num_accepted = {3, -1, 2};
  EXPECT_EQ(MessageFor(c),
            "state_update: num_accepted[0] is 3, expected 0 to T, which is 2; num_accepted[1] is "
            "-1, expected 0 to T, which is 2");
}

TEST(CheckStateUpdateIndices, PaddingIsNotLookedAt) {
  StateUpdateCase c = SlotCase({0, -1, 2});
  c.num_accepted = {1, 99, 2};
  EXPECT_EQ(MessageFor(c), "");
}

class StateUpdateFailureOn : public ::testing::TestWithParam<Target> {
 protected:
  void ExpectRefused(const StateUpdateCase& c, const std::string& argument) {
    const StateUpdateOperands operands = BuildOperands(c);
    const StateUpdateOperands before = Copy(operands);
    const RunResult result = RunCall(operands, GetParam().Options());
    EXPECT_EQ(result.status, TILESCAN_INVALID_ARGUMENT);
    EXPECT_NE(result.message.find("state_update: "), std::string::npos) << result.message;
    EXPECT_NE(result.message.find(argument), std::string::npos) << result.message;
    ExpectSameBits(operands, before, result.message);
    EXPECT_TRUE(result.surroundings_intact);
  }
};

TEST_P(StateUpdateFailureOn, WrongSlotsLeaveStateAndOutUntouched) {
  ExpectRefused(SlotCase({0, 6, 1}), "state_batch_indices[1]");
  ExpectRefused(SlotCase({0, 1, 1}), "state_batch_indices[2]");
}

TEST_P(StateUpdateFailureOn, WrongCountsLeaveStateAndOutUntouched) {
  StateUpdateCase c = SlotCase({0, 1, 2});
  c.num_accepted = {0, 3, 1};
  ExpectRefused(c, "num_accepted[1]");
  c.num_accepted = {0, 2, -2};
  ExpectRefused(c, "num_accepted[2]");
}

INSTANTIATE_TEST_SUITE_P(All, StateUpdateFailureOn,
                         ::testing::ValuesIn(HostTargets("state_update")), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
