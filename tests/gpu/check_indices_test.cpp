// options.check_indices on a GPU: wrong values are refused as on a CPU, before anything is written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/check_indices.h"
#include "testing/device_replay.h"
#include "tests/expect_run.h"
#include "tests/gpu/device_call.h"
#include "tests/gpu/device_cases.h"
#include "tests/gpu/gpu.h"

namespace tilescan::testing {
namespace {

ScanCase PackedCase(std::vector<int64_t> cu_seqlens, DType dtype) {
  ScanCase c = RandomScanCase("checked", {1, 20, 2, 4, 1, 4}, 3200);
  c.cu_seqlens = std::move(cu_seqlens);
  c.cu_seqlens_dtype = dtype;
  return c;
}

StateUpdateCase SlotCase(std::vector<int64_t> slots, std::vector<int32_t> num_accepted) {
  StateUpdateCase c = RandomStateUpdateCase("checked", {3, 2, 2, 4, 1, 4}, 3201);
  c.num_slots = 6;
  c.state_batch_indices = std::move(slots);
  c.num_accepted = std::move(num_accepted);
  return c;
}

class CheckedGpu : public GpuTest {
 protected:
  static tilescan_options Checking(const Target& target) {
    tilescan_options options = target.Options();
    options.check_indices = 1;
    return options;
  }

  // On every kernel that takes the case, of which there is one at least.
  template <typename Case>
  static void ExpectChecked(const std::string& operation, const Case& any_case) {
    int num_taken = 0;
    for (const Target& target : DeviceTargets(operation)) {
      SCOPED_TRACE(target.Name());
      const auto operands = BuildOperands(any_case);
      const auto before = Copy(operands);
      const std::string expected = CheckIndices(MakeProblem(operands)).message();
      const RunResult result = RunCall(operands, Checking(target));
      if (result.status == TILESCAN_UNSUPPORTED) continue;
      ++num_taken;
      EXPECT_EQ(result.status, expected.empty() ? TILESCAN_OK : TILESCAN_INVALID_ARGUMENT);
      EXPECT_EQ(result.message, expected);
      if (expected.empty()) {
        ExpectSameBits(operands, Solve(any_case, target), "checked");
      } else {
        ExpectSameBits(operands, before, "refused");
      }
    }
    EXPECT_GT(num_taken, 0);
  }
};

TEST_F(CheckedGpu, CuSeqlens) {
  for (const std::vector<int64_t>& cu_seqlens :
       {std::vector<int64_t>{0, 7, 20}, {1, 20}, {0, 9, 5, 20}, {0, 19}, {0, 21}, {0, -4, 20}}) {
    for (const DType dtype : {DType::kInt32, DType::kInt64}) {
      ExpectChecked("scan_forward", PackedCase(cu_seqlens, dtype));
    }
  }
}

TEST_F(CheckedGpu, SlotsAndCounts) {
  ExpectChecked("state_update", SlotCase({5, -1, 0}, {0, 9, 2}));
  ExpectChecked("state_update", SlotCase({0, 6, 1}, {0, 1, 2}));
  ExpectChecked("state_update", SlotCase({0, 1, 1}, {0, 1, 2}));
  ExpectChecked("state_update", SlotCase({0, 1, 2}, {0, 3, -1}));
}

TEST_F(CheckedGpu, Convolutions) {
  for (const std::vector<int64_t>& cu_seqlens :
       {std::vector<int64_t>{0, 7, 20}, {1, 20}, {0, 9, 5, 20}, {0, 21}, {0, -4, 20}}) {
    ConvCase c = RandomConvCase("checked", 1, 20, 16, 3203);
    c.cu_seqlens = cu_seqlens;
    ExpectChecked(ConvOperands::kOperation, c);
  }
  ConvUpdateCase step = RandomConvUpdateCase("checked", 3, 2, 16, 3204);
  step.num_slots = 6;
  for (const std::vector<int64_t>& slots : {std::vector<int64_t>{5, -1, 0}, {0, 6, 1}, {0, 1, 1}}) {
    step.conv_state_indices = slots;
    step.cache_seqlens = {};
    ExpectChecked(ConvUpdateOperands::kOperation, step);
    step.cache_seqlens = {3, -1, 8};
    ExpectChecked(ConvUpdateOperands::kOperation, step);
  }
}

// Of one token, with rows of the state that are whole vectors.
void ExpectSlotsBehindTheLastArePadding(DType state, const Target& target) {
  ConvUpdateCase c = RandomConvUpdateCase("unchecked", 3, 0, 16, 3207);
  c.num_slots = 6;
  c.state_len = 4;
  c.conv_state_dtype = state;
  c.conv_state_indices = {0, 6, 5};
  const ConvUpdateOperands operands = BuildOperands(c);
  ASSERT_TRUE(RunCall(operands, target.Options()).ok());
  c.conv_state_indices = {0, -1, 5};
  const ConvUpdateOperands expected = BuildOperands(c);
  ASSERT_TRUE(RunCall(expected, target.Options()).ok());
  ExpectSameBits(operands, expected, target.Name());
}

// Wrong values that nobody checks stay within the operands.
TEST_F(CheckedGpu, UncheckedConvolutionsStayInBounds) {
  for (const Target& target : DeviceTargets(ConvOperands::kOperation)) {
    for (const std::vector<int64_t>& cu_seqlens :
         {std::vector<int64_t>{1, 20}, {0, 9, 5, 20}, {0, 21}, {-7, -4, 3}, {30, 40, 50}}) {
      ConvCase c = RandomConvCase("unchecked", 1, 20, 16, 3205);
      AddOptionalOperands(&c, 3205);
      c.cu_seqlens = cu_seqlens;
      const ConvOperands operands = BuildOperands(c);
      EXPECT_TRUE(RunCall(operands, target.Options()).ok());
    }
  }
  for (const Target& target : DeviceTargets(ConvUpdateOperands::kOperation)) {
    ConvUpdateCase c = RandomConvUpdateCase("unchecked", 3, 2, 16, 3206);
    c.num_slots = 6;
    c.conv_state_indices = {0, 6, 5};
    c.cache_seqlens = {-1, -5000, 2};
    const ConvUpdateOperands operands = BuildOperands(c);
    EXPECT_TRUE(RunCall(operands, target.Options()).ok());
    for (const DType state : {DType::kFloat32, DType::kBFloat16}) {
      ExpectSlotsBehindTheLastArePadding(state, target);
    }
  }
}

// What has no index operands runs on every kernel as ever.
TEST_F(CheckedGpu, WithoutIndices) {
  for (const Target& target : DeviceTargets("scan_forward")) {
    const ScanCase c = DeviceScanCases(3202).front();
    const ScanOperands operands = BuildOperands(c);
    const RunResult result = RunCall(operands, Checking(target));
    ASSERT_EQ(result.status, TILESCAN_OK) << target.Name() << ": " << result.message;
    ExpectSameBits(operands, Solve(c, target), target.Name());
  }
}

TEST_F(CheckedGpu, RefusesACapture) {
  for (const Target& target : DeviceTargets("state_update")) {
    const StateUpdateOperands operands = BuildOperands(SlotCase({0, 1, 2}, {0, 1, 2}));
    DeviceCall call(operands);
    const tilescan_options options = Checking(target);
    const Plan plan(call.args(), &options);
    call.AllocateWorkspace(plan.workspace_bytes());
    // The capture itself goes on, of nothing.
    const DeviceReplay replay([&](void* stream) {
      EXPECT_EQ(call.Run(plan, stream), TILESCAN_INVALID_ARGUMENT);
      EXPECT_EQ(std::string(tilescan_last_error()),
                "state_update: options.check_indices is 1, expected 0 while the stream is being "
                "captured: the check waits for the stream");
    });
    replay.Run();
    EXPECT_EQ(call.Run(plan, nullptr), TILESCAN_OK) << tilescan_last_error();
    SynchronizeDevice();
  }
}

}  // namespace
}  // namespace tilescan::testing
