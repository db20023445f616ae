// What must not change a bit of the result: threads, executors, the company of other rows and
// heads, runs at the same time.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "testing/case_list.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

class StateUpdateInvarianceOn : public ::testing::TestWithParam<Target> {
 protected:
  static StateUpdateCase BatchCase(DType dtype, int64_t num_tokens, int64_t batch = 5) {
    StateUpdateCase c =
        RandomStateUpdateCase("invariance", {batch, num_tokens, 4, 24, 2, 40}, 1700);
    AddOptionalOperands(&c, 1700);
    c.state_dtype = c.x_dtype = c.out_dtype = dtype;
    return c;
  }
  // States enough for seven threads: small steps take fewer than they may.
  static constexpr int64_t kLargeBatch = 32;
  static constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
};

TEST_P(StateUpdateInvarianceOn, NumberOfThreads) {
  for (const DType dtype : kDTypes) {
    for (const int64_t num_tokens : {0, 3}) {
      Target target = GetParam();
      target.num_threads = 1;
      const StateUpdateOperands expected = Solve(BatchCase(dtype, num_tokens, kLargeBatch), target);
      for (const int32_t num_threads : {2, 3, 7}) {
        target.num_threads = num_threads;
        ExpectSameBits(Solve(BatchCase(dtype, num_tokens, kLargeBatch), target), expected,
                       std::to_string(num_threads) + " threads");
      }
    }
  }
}

// Runs tasks one after another on the calling thread, last first. context: an int32_t that becomes
// the number of tasks.
void RunBackwards(void* context, int32_t num_tasks, tilescan_task task, void* task_context) {
  *static_cast<int32_t*>(context) = num_tasks;
  for (int32_t idx = num_tasks - 1; idx >= 0; --idx) task(task_context, idx);
}

TEST_P(StateUpdateInvarianceOn, ExecutorOfTheCaller) {
  for (const int64_t batch : {int64_t{1}, kLargeBatch}) {
    const StateUpdateCase c = BatchCase(DType::kFloat32, 0, batch);
    const StateUpdateOperands expected = Solve(c, GetParam());
    int32_t num_tasks = 1;
    const tilescan_executor executor = {&num_tasks, RunBackwards};
    tilescan_options options = GetParam().Options();
    options.executor = &executor;
    options.num_threads = 5;
    const StateUpdateOperands operands = BuildOperands(c);
    const RunResult result = RunCall(operands, options);
    EXPECT_TRUE(result.ok()) << result.message;
    ExpectSameBits(operands, expected, "backwards");
    // The reference runs on the caller's thread alone, and a GPU asks no executor.
    EXPECT_EQ(num_tasks, batch > 1 && GetParam().backend == "cpu" ? 5 : 1);
  }
}

TEST_P(StateUpdateInvarianceOn, ARowAlone) {
  for (const DType dtype : kDTypes) {
    const StateUpdateOperands unsolved = BuildOperands(BatchCase(dtype, 2));
    const StateUpdateOperands batch = Solve(BatchCase(dtype, 2), GetParam());
    for (const int64_t row : {0, 3, 4}) {
      const StateUpdateOperands alone = SelectRows(unsolved, {row});
      ExpectRun(alone, GetParam());
      ExpectSameBits(alone, SelectRows(batch, {row}), "row " + std::to_string(row));
    }
  }
}

TEST_P(StateUpdateInvarianceOn, OrderOfRowsAndHeads) {
  const StateUpdateOperands unsolved = BuildOperands(BatchCase(DType::kFloat32, 2));
  const StateUpdateOperands batch = Solve(BatchCase(DType::kFloat32, 2), GetParam());
  const std::vector<int64_t> rows = {4, 0, 2, 1, 3};
  const StateUpdateOperands permuted_rows = SelectRows(unsolved, rows);
  ExpectRun(permuted_rows, GetParam());
  ExpectSameBits(permuted_rows, SelectRows(batch, rows), "permuted rows");
  const StateUpdateOperands permuted_heads = SelectHeads(unsolved, {3, 2, 0, 1}, {1, 0});
  ExpectRun(permuted_heads, GetParam());
  ExpectSameBits(permuted_heads, SelectHeads(batch, {3, 2, 0, 1}, {1, 0}), "permuted heads");
}

TEST_P(StateUpdateInvarianceOn, GroupsExpandedToHeads) {
  const StateUpdateOperands unsolved = BuildOperands(BatchCase(DType::kFloat32, 0));
  const StateUpdateOperands grouped = Solve(BatchCase(DType::kFloat32, 0), GetParam());
  const StateUpdateOperands expanded = SelectHeads(unsolved, {0, 1, 2, 3}, {0, 0, 1, 1});
  ExpectRun(expanded, GetParam());
  ExpectSameBits(expanded, grouped, "a group for each head");
}

// A slot is where the state lies, no more.
TEST_P(StateUpdateInvarianceOn, WhichSlots) {
  const StateUpdateOperands plain = Solve(BatchCase(DType::kFloat32, 2), GetParam());
  StateUpdateCase c = BatchCase(DType::kFloat32, 2);
  const std::vector<int64_t> slots = {7, 2, 0, 5, 6};
  c.state_batch_indices = slots;
  c.num_slots = 8;
  c.state = [state = c.state, slots](int64_t idx) {
    const int64_t slot_size = 4 * 24 * 40;
    for (size_t row = 0; row < slots.size(); ++row) {
      if (slots[row] == idx / slot_size) {
        return state(static_cast<int64_t>(row) * slot_size + idx % slot_size);
      }
    }
    return -1.0;
  };
  const StateUpdateOperands solved = Solve(c, GetParam());
  EXPECT_TRUE(solved.out.HasSameBits(plain.out));
  EXPECT_TRUE(Select(solved.state, 0, slots).HasSameBits(plain.state));
}

TEST_P(StateUpdateInvarianceOn, RunsAtTheSameTime) {
  constexpr size_t kNumThreads = 4;
  const StateUpdateCase c = BatchCase(DType::kFloat32, 0, kLargeBatch);
  Target target = GetParam();
  target.num_threads = 2;
  const StateUpdateOperands expected = Solve(c, target);

  const tilescan_options options = target.Options();
  std::vector<StateUpdateOperands> operands(kNumThreads);
  for (StateUpdateOperands& each : operands) each = BuildOperands(c);
  const tilescan_state_update_args args = MakeArgs(operands[0]);
  tilescan_plan* plan = nullptr;
  ASSERT_EQ(tilescan_plan_state_update(&args, &options, &plan), TILESCAN_OK)
      << tilescan_last_error();
  std::vector<tilescan_status> statuses(kNumThreads, TILESCAN_INTERNAL);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kNumThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const tilescan_state_update_args own_args = MakeArgs(operands[thread]);
      statuses[thread] = RunPlanned(plan, own_args).status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  tilescan_plan_destroy(plan);
  for (size_t thread = 0; thread < kNumThreads; ++thread) {
    EXPECT_EQ(statuses[thread], TILESCAN_OK);
    ExpectSameBits(operands[thread], expected, "thread " + std::to_string(thread));
  }
}

INSTANTIATE_TEST_SUITE_P(All, StateUpdateInvarianceOn,
                         ::testing::ValuesIn(AvailableTargets("state_update")), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
