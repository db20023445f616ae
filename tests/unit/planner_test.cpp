// The planner's choice among injected rows.
#include "plan/planner.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

using ScanChoice = Choice<ScanForwardProblem>;

ScanChoice ChooseScan(const Options& options, tilescan_dtype dtype = tilescan_float32()) {
  ScanChoice choice;
  const Status status = Choose(ProblemOf(ExampleScanForward(dtype)), options, ExampleFacts(),
                               ExampleRows<ScanForwardProblem>(), &choice);
  EXPECT_EQ(status.message(), "");
  return choice;
}

std::string UnsupportedMessage(const Options& options, const DeviceFacts& facts,
                               const RowLists<ScanForwardProblem>& row_lists) {
  ScanChoice choice;
  const Status status = Choose(ProblemOf(ExampleScanForward()), options, facts, row_lists, &choice);
  EXPECT_EQ(status.code(), TILESCAN_UNSUPPORTED);
  return status.message();
}

std::string RowOf(const ScanChoice& choice) {
  return std::string(choice.variant->backend) + "/" + choice.variant->name + "/" +
         choice.variant->instruction_set;
}

TEST(Planner, TakesTheCheapestOfTheDefaultBackend) {
  const ScanChoice choice = ChooseScan({});
  EXPECT_EQ(RowOf(choice), "cpu/chunked/avx2");
  EXPECT_EQ(choice.reason, "the default backend; cost 2, the least of 3");
}

TEST(Planner, RecordsWhyTheOthersWereNotTaken) {
  const std::vector<Rejected> rejected = ChooseScan({}).rejected;
  ASSERT_EQ(rejected.size(), 3u);
  EXPECT_EQ(rejected[0].kernel, "chunked");
  EXPECT_EQ(rejected[0].instruction_set, "scalar");
  EXPECT_EQ(rejected[0].reason, "costs 4, not less than 2");
  EXPECT_EQ(rejected[1].kernel, "stepwise");
  EXPECT_EQ(rejected[1].reason, "costs 3, not less than 2");
  EXPECT_EQ(rejected[2].backend, "reference");
  EXPECT_EQ(rejected[2].reason, "the backend is cpu");
}

TEST(Planner, TakesTheFirstOfEquals) {
  const Variant<ScanForwardProblem> rows[] = {
      ExampleRow<ScanForwardProblem, 5>("cpu", "first", ""),
      ExampleRow<ScanForwardProblem, 5>("cpu", "second", "")};
  ScanChoice choice;
  ASSERT_TRUE(Choose(ProblemOf(ExampleScanForward()), {}, ExampleFacts(), {rows}, &choice).ok());
  EXPECT_STREQ(choice.variant->name, "first");
}

TEST(Planner, TakesTheReferenceByItselfForFloat64Only) {
  const ScanChoice choice = ChooseScan({}, tilescan_float64());
  EXPECT_EQ(RowOf(choice), "reference/recurrence/");
  EXPECT_EQ(choice.reason, "only the reference takes float64 operands; the only kernel that can");
  EXPECT_EQ(choice.rejected.size(), 3u);
}

TEST(Planner, SeesFloat64InAnyOperand) {
  tilescan_state_update_args args = ExampleStateUpdate(tilescan_float64());
  args.state.dtype = args.dt.dtype = tilescan_float32();
  Choice<StateUpdateProblem> choice;
  ASSERT_TRUE(
      Choose(ProblemOf(args), {}, ExampleFacts(), ExampleRows<StateUpdateProblem>(), &choice).ok());
  EXPECT_STREQ(choice.variant->backend, "reference");
}

TEST(Planner, NeverFallsBackToTheReference) {
  const Variant<ScanForwardProblem> rows[] = {
      ExampleRow<ScanForwardProblem, 1>("reference", "recurrence", "")};
  EXPECT_EQ(UnsupportedMessage({}, ExampleFacts(), {rows}),
            "scan_forward: no kernel can do this; not reference/recurrence: the backend is cpu");
}

TEST(Planner, ObeysTheBackend) {
  const ScanChoice choice = ChooseScan({.backend = "reference"});
  EXPECT_EQ(RowOf(choice), "reference/recurrence/");
  EXPECT_EQ(choice.reason, "the backend was asked for; the only kernel that can");
}

TEST(Planner, ObeysTheKernel) {
  const ScanChoice choice = ChooseScan({.kernel = "stepwise"});
  EXPECT_EQ(RowOf(choice), "cpu/stepwise/avx2");
  EXPECT_EQ(choice.reason,
            "the default backend; the kernel was asked for; the only kernel that can");
  EXPECT_EQ(choice.rejected[0].reason, "the kernel asked for is stepwise");
}

TEST(Planner, ObeysTheInstructionSet) {
  const ScanChoice choice = ChooseScan({.instruction_set = "scalar"});
  EXPECT_EQ(RowOf(choice), "cpu/chunked/scalar");
  EXPECT_EQ(choice.reason,
            "the default backend; the instruction set was asked for; the only kernel that can");
  EXPECT_EQ(choice.rejected[0].reason, "the instruction set asked for is scalar");
}

TEST(Planner, SaysForEachRowWhyThereIsNone) {
  Variant<ScanForwardProblem> rows[] = {ExampleRow<ScanForwardProblem, 1>("cpu", "chunked", "avx2"),
                                        ExampleRow<ScanForwardProblem, 2>("cpu", "stepwise", "")};
  rows[0].reason_against = [](const ScanForwardProblem&, const DeviceFacts& facts) {
    return "a machine of " + std::to_string(facts.cpu.num_threads) + " threads is too small";
  };
  rows[1].reason_against = [](const ScanForwardProblem& problem, const DeviceFacts&) {
    return "headdim is " + std::to_string(problem.sizes.headdim);
  };
  EXPECT_EQ(UnsupportedMessage({}, ExampleFacts(), {rows}),
            "scan_forward: no kernel can do this; not cpu/chunked/avx2: a machine of 8 threads is "
            "too small; not cpu/stepwise: headdim is 8");
}

TEST(Planner, AsksNoCostOfARowThatCannot) {
  Variant<ScanForwardProblem> rows[] = {ExampleRow<ScanForwardProblem, 1>("cpu", "cheap", ""),
                                        ExampleRow<ScanForwardProblem, 9>("cpu", "dear", "")};
  rows[0].reason_against = [](const ScanForwardProblem&, const DeviceFacts&) {
    return std::string("not today");
  };
  ScanChoice choice;
  ASSERT_TRUE(Choose(ProblemOf(ExampleScanForward()), {}, ExampleFacts(), {rows}, &choice).ok());
  EXPECT_STREQ(choice.variant->name, "dear");
  ASSERT_EQ(choice.rejected.size(), 1u);
  EXPECT_EQ(choice.rejected[0].reason, "not today");
}

// ---- the schedule ----

TEST(Planner, LeavesTheScheduleToTheRowAndTheMachine) {
  const ScanChoice choice = ChooseScan({});
  EXPECT_EQ(choice.schedule.chunk_size, 48);
  EXPECT_EQ(choice.schedule.num_threads, 8);
  EXPECT_EQ(choice.schedule.executor, nullptr);
  EXPECT_EQ(choice.workspace_bytes, 1008u);
}

TEST(Planner, ObeysTheSchedule) {
  const tilescan_executor executor = {nullptr, [](void*, int32_t, tilescan_task, void*) {}};
  const ScanChoice choice = ChooseScan({.chunk_size = 96, .num_threads = 3, .executor = &executor});
  EXPECT_EQ(choice.schedule.chunk_size, 96);
  EXPECT_EQ(choice.schedule.num_threads, 3);
  EXPECT_EQ(choice.schedule.executor, &executor);
  EXPECT_EQ(choice.workspace_bytes, 1003u);
}

TEST(Planner, GivesOneThreadToARowThatPreparesNone) {
  Variant<ScanForwardProblem> rows[] = {ExampleRow<ScanForwardProblem, 1>("cpu", "plain", "")};
  rows[0].prepare = nullptr;
  ScanChoice choice;
  ASSERT_TRUE(
      Choose(ProblemOf(ExampleScanForward()), {.num_threads = 5}, ExampleFacts(), {rows}, &choice)
          .ok());
  EXPECT_EQ(choice.schedule.num_threads, 1);
}

// ---- names ----

std::string NamesMessage(const Options& options) {
  Violations violations("scan_forward");
  CheckNames(options, ExampleFacts(), ExampleRows<ScanForwardProblem>(), &violations);
  return violations.ToStatus().message();
}

TEST(CheckNames, AcceptsNamesThatExist) {
  EXPECT_EQ(NamesMessage({}), "");
  EXPECT_EQ(NamesMessage({.backend = "cpu", .kernel = "chunked", .instruction_set = "avx512"}), "");
}

TEST(CheckNames, ListsBackends) {
  EXPECT_EQ(NamesMessage({.backend = "gpu"}),
            "scan_forward: options.backend is \"gpu\", expected \"cpu\" or \"reference\"");
}

TEST(CheckNames, ListsKernels) {
  EXPECT_EQ(NamesMessage({.kernel = "magic"}),
            "scan_forward: options.kernel is \"magic\", expected \"chunked\", \"stepwise\" or "
            "\"recurrence\"");
}

TEST(CheckNames, ListsKernelsOfTheBackend) {
  EXPECT_EQ(NamesMessage({.backend = "reference", .kernel = "chunked"}),
            "scan_forward: options.kernel is \"chunked\", expected \"recurrence\"");
}

TEST(CheckNames, ListsInstructionSets) {
  EXPECT_EQ(NamesMessage({.instruction_set = "sse"}),
            "scan_forward: options.instruction_set is \"sse\", expected \"scalar\", \"avx2\" or "
            "\"avx512\"");
}

TEST(CheckNames, NamesAllAtOnce) {
  EXPECT_EQ(NamesMessage({.backend = "gpu", .kernel = "magic", .instruction_set = "sse"}),
            "scan_forward: options.backend is \"gpu\", expected \"cpu\" or \"reference\"; "
            "options.instruction_set is \"sse\", expected \"scalar\", \"avx2\" or \"avx512\"");
}

// ---- making a plan ----

class MakePlanTest : public testing::Test {
 protected:
  void SetUp() override { CallsOfRows() = Calls(); }

  Status Make(const tilescan_scan_forward_args& args, const tilescan_options* options = nullptr) {
    return MakePlan<ScanForwardProblem>(args, options, ExampleFacts(),
                                        ExampleRows<ScanForwardProblem>(), &plan_);
  }
  std::unique_ptr<const Plan> plan_;
};

TEST_F(MakePlanTest, PreparesTheRowOnce) {
  ASSERT_TRUE(Make(ExampleScanForward()).ok());
  EXPECT_EQ(CallsOfRows().num_prepared, 1);
  EXPECT_EQ(CallsOfRows().schedule.num_threads, 8);
  EXPECT_EQ(CallsOfRows().num_run, 0);
  EXPECT_EQ(plan_->workspace_bytes(), 1008u);
  EXPECT_STREQ(plan_->operation_name(), "scan_forward");
}

TEST_F(MakePlanTest, FailsWhenPreparingFails) {
  CallsOfRows().prepare_status = Status::OutOfMemory("no threads left");
  const Status status = Make(ExampleScanForward());
  EXPECT_EQ(status.code(), TILESCAN_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "no threads left");
  EXPECT_EQ(plan_, nullptr);
}

TEST_F(MakePlanTest, NamesWrongOperandsAndWrongOptionsTogether) {
  tilescan_options options = {};
  options.struct_size = sizeof(options);
  options.backend = "gpu";
  options.num_threads = -2;
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt_softplus = 5;
  EXPECT_EQ(Make(args, &options).message(),
            "scan_forward: dt_softplus is 5, expected 0 or 1; options.num_threads is -2, expected "
            "0 (all) to 1024; options.backend is \"gpu\", expected \"cpu\" or \"reference\"");
  EXPECT_EQ(CallsOfRows().num_prepared, 0);
}

TEST_F(MakePlanTest, HasNoChunksInStateUpdate) {
  tilescan_options options = {};
  options.struct_size = sizeof(options);
  options.chunk_size = 64;
  const Status status = MakePlan<StateUpdateProblem>(ExampleStateUpdate(), &options, ExampleFacts(),
                                                     ExampleRows<StateUpdateProblem>(), &plan_);
  EXPECT_EQ(status.code(), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "state_update: options.chunk_size is 64, expected 0: state_update has no chunks");
}

}  // namespace
}  // namespace tilescan::plan
