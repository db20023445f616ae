// What must not change a bit of the result: threads, executors, the company of other rows and
// heads, tokens that come later, runs at the same time, and the order of the runs.
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

constexpr int64_t kChunkSize = 64;

class ScanInvarianceOn : public ::testing::TestWithParam<Target> {
 protected:
  static ScanCase BatchCase(DType dtype) {
    ScanCase c = RandomScanCase("invariance", {4, 200, 4, 24, 2, 40}, 700);
    AddOptionalOperands(&c, 700);
    c.x_dtype = dtype;
    c.states_every = 50;
    return c;
  }
  // One row, few heads, many tokens: the work can be cut along the tokens only.
  static ScanCase LongCase(DType dtype) {
    ScanCase c = RandomScanCase("invariance/long", {1, 3000, 1, 16, 1, 24}, 701);
    AddOptionalOperands(&c, 701);
    c.x_dtype = dtype;
    return c;
  }
};

TEST_P(ScanInvarianceOn, NumberOfThreads) {
  for (const DType dtype : DTypesOf(GetParam())) {
    for (const ScanCase& c : {BatchCase(dtype), LongCase(dtype)}) {
      Target target = GetParam();
      target.num_threads = 1;
      const ScanOperands expected = Solve(c, target);
      for (const int32_t num_threads : {2, 3, 7}) {
        target.num_threads = num_threads;
        ExpectSameBits(Solve(c, target), expected, std::to_string(num_threads) + " threads");
      }
    }
  }
}

// Runs tasks one after another on the calling thread, forwards or backwards.
struct SerialExecutor {
  bool is_reverse = false;
  int64_t num_tasks_run = 0;

  static void ParallelFor(void* context, int32_t num_tasks, tilescan_task task,
                          void* task_context) {
    auto* executor = static_cast<SerialExecutor*>(context);
    for (int32_t idx = 0; idx < num_tasks; ++idx) {
      task(task_context, executor->is_reverse ? num_tasks - 1 - idx : idx);
      ++executor->num_tasks_run;
    }
  }
};

TEST_P(ScanInvarianceOn, ExecutorOfTheCaller) {
  for (const ScanCase& c :
       {BatchCase(WidestDType(GetParam())), LongCase(WidestDType(GetParam()))}) {
    const ScanOperands expected = Solve(c, GetParam());
    for (const bool is_reverse : {false, true}) {
      SerialExecutor context{is_reverse};
      const tilescan_executor executor = {&context, SerialExecutor::ParallelFor};
      tilescan_options options = GetParam().Options();
      options.num_threads = 5;
      options.executor = &executor;
      const ScanOperands operands = BuildOperands(c);
      const RunResult result = RunCall(operands, options);
      EXPECT_TRUE(result.ok()) << result.message;
      // Others have no work for CPU threads.
      if (GetParam().backend == "cpu") {
        EXPECT_GT(context.num_tasks_run, 0);
      }
      ExpectSameBits(operands, expected, is_reverse ? "reverse" : "serial");
    }
  }
}

TEST_P(ScanInvarianceOn, ARowAlone) {
  for (const DType dtype : DTypesOf(GetParam())) {
    const ScanOperands unsolved = BuildOperands(BatchCase(dtype));
    const ScanOperands batch = Solve(BatchCase(dtype), GetParam(), kChunkSize);
    for (const int64_t row : {0, 2, 3}) {
      const ScanOperands alone = SelectRows(unsolved, {row});
      ExpectRun(alone, GetParam(), kChunkSize);
      ExpectSameBits(alone, SelectRows(batch, {row}), "row " + std::to_string(row));
    }
  }
}

TEST_P(ScanInvarianceOn, OrderOfRows) {
  const std::vector<int64_t> order = {2, 0, 3, 1};
  const ScanOperands unsolved = BuildOperands(BatchCase(WidestDType(GetParam())));
  const ScanOperands batch = Solve(BatchCase(WidestDType(GetParam())), GetParam());
  const ScanOperands permuted = SelectRows(unsolved, order);
  ExpectRun(permuted, GetParam());
  ExpectSameBits(permuted, SelectRows(batch, order), "permuted rows");
}

TEST_P(ScanInvarianceOn, OrderOfHeads) {
  // Heads 0 and 1 belong to group 0, heads 2 and 3 to group 1.
  const std::vector<int64_t> heads = {3, 2, 0, 1};
  const std::vector<int64_t> groups = {1, 0};
  const ScanOperands unsolved = BuildOperands(BatchCase(WidestDType(GetParam())));
  const ScanOperands batch = Solve(BatchCase(WidestDType(GetParam())), GetParam());
  const ScanOperands permuted = SelectHeads(unsolved, heads, groups);
  ExpectRun(permuted, GetParam());
  ExpectSameBits(permuted, SelectHeads(batch, heads, groups), "permuted heads");
}

TEST_P(ScanInvarianceOn, GroupsExpandedToHeads) {
  const ScanOperands unsolved = BuildOperands(BatchCase(WidestDType(GetParam())));
  const ScanOperands grouped = Solve(BatchCase(WidestDType(GetParam())), GetParam());
  const ScanOperands expanded = SelectHeads(unsolved, {0, 1, 2, 3}, {0, 0, 1, 1});
  ExpectRun(expanded, GetParam());
  ExpectSameBits(expanded, grouped, "a group for each head");
}

TEST_P(ScanInvarianceOn, APrefix) {
  for (const DType dtype : DTypesOf(GetParam())) {
    ScanCase c = RandomScanCase("prefix", {2, 257, 2, 24, 1, 40}, 702);
    AddOptionalOperands(&c, 702);
    c.x_dtype = dtype;
    const ScanOperands unsolved = BuildOperands(c);
    for (const int64_t chunk_size : {kChunkSize, int64_t{48}, int64_t{256}}) {
      const ScanOperands whole = Solve(c, GetParam(), chunk_size);
      for (const int64_t seqlen : {1, 2, 47, 63, 64, 65, 128, 200, 256}) {
        ScanOperands prefix = SelectTokens(unsolved, Range(0, seqlen));
        prefix.final_states = HostTensor();
        ExpectRun(prefix, GetParam(), chunk_size);
        ExpectSameBits(
            prefix, SelectTokens(whole, Range(0, seqlen)),
            std::to_string(seqlen) + " tokens, chunk size " + std::to_string(chunk_size));
      }
    }
  }
}

// What is asked for beside out does not change out.
TEST_P(ScanInvarianceOn, WhichOutputsAreAskedFor) {
  ScanCase c = BatchCase(WidestDType(GetParam()));
  const ScanOperands expected = Solve(c, GetParam(), kChunkSize);
  c.has_final_states = false;
  // A multiple of the chunk size cuts nothing that would not be cut anyway.
  c.states_every = kChunkSize;
  const ScanOperands on_the_grid = Solve(c, GetParam(), kChunkSize);
  c.states_every = 0;
  const ScanOperands out_only = Solve(c, GetParam(), kChunkSize);
  EXPECT_TRUE(out_only.out.HasSameBits(on_the_grid.out));
}

TEST_P(ScanInvarianceOn, RunsAtTheSameTime) {
  constexpr int kNumThreads = 4;
  const ScanCase c = BatchCase(WidestDType(GetParam()));
  Target target = GetParam();
  target.num_threads = 2;
  const ScanOperands expected = Solve(c, target);

  const tilescan_options options = target.Options();
  std::vector<ScanOperands> operands(kNumThreads);
  for (ScanOperands& each : operands) each = BuildOperands(c);
  const tilescan_scan_forward_args args = MakeArgs(operands[0]);
  tilescan_plan* plan = nullptr;
  ASSERT_EQ(tilescan_plan_scan_forward(&args, &options, &plan), TILESCAN_OK)
      << tilescan_last_error();
  std::vector<tilescan_status> statuses(kNumThreads, TILESCAN_INTERNAL);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kNumThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const tilescan_scan_forward_args own_args = MakeArgs(operands[thread]);
      for (int repeat = 0; repeat < 3; ++repeat) {
        statuses[thread] = RunPlanned(plan, own_args).status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  tilescan_plan_destroy(plan);
  for (size_t thread = 0; thread < kNumThreads; ++thread) {
    EXPECT_EQ(statuses[thread], TILESCAN_OK);
    ExpectSameBits(operands[thread], expected, "thread " + std::to_string(thread));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScanInvarianceOn,
                         ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
