// Calls that fail say what is wrong and leave every output as it was.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/check_indices.h"
#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

ScanCase PackedCase(std::vector<int64_t> cu_seqlens) {
  ScanCase c = RandomScanCase("failure", {1, 20, 2, 4, 1, 4}, 950);
  c.cu_seqlens = std::move(cu_seqlens);
  return c;
}

std::string MessageFor(std::vector<int64_t> cu_seqlens) {
  const ScanOperands operands = BuildOperands(PackedCase(std::move(cu_seqlens)));
  return CheckIndices(MakeProblem(operands)).message();
}

TEST(CheckScanIndices, RightValuesPass) {
  EXPECT_EQ(MessageFor({0, 20}), "");
  EXPECT_EQ(MessageFor({0, 0, 7, 7, 20, 20}), "");
}

TEST(CheckScanIndices, EveryViolationIsNamed) {
  EXPECT_EQ(MessageFor({1, 20}), "scan_forward: cu_seqlens[0] is 1, expected 0");
  EXPECT_EQ(MessageFor({0, 9, 5, 20}),
            "scan_forward: cu_seqlens[2] is 5, expected at least cu_seqlens[1], which is 9");
  EXPECT_EQ(MessageFor({0, 19}), "scan_forward: cu_seqlens[1] is 19, expected seqlen, which is 20");
  EXPECT_EQ(MessageFor({-1, -3, 21}),
            "scan_forward: cu_seqlens[0] is -1, expected 0; cu_seqlens[1] is -3, expected at least "
            "cu_seqlens[0], which is -1; cu_seqlens[2] is 21, expected seqlen, which is 20");
}

TEST(CheckScanIndices, ALongListIsCut) {
  std::vector<int64_t> falling;
  for (int64_t value = 30; value >= 0; --value) falling.push_back(value);
  const std::string message = MessageFor(falling);
  EXPECT_NE(message.find("; and 24 more"), std::string::npos) << message;
}

// A state that one thread could hold, but not all of them: refused, never a size that wrapped
// around.
TEST(ScanFailure, AWorkspaceNoMachineHasIsRefused) {
  const ScanOperands operands = BuildOperands(RandomScanCase("wrap", {1, 1, 1, 1, 1, 1}, 951));
  tilescan_scan_forward_args args = MakeArgs(operands);
  args.initial_states = {};
  args.final_states = {};
  for (tilescan_tensor* tensor : {&args.B, &args.C}) {
    tensor->shape[3] = int64_t{67978862299409};
    tensor->strides[3] = 0;
  }
  Target target;
  target.backend = "cpu";
  target.num_threads = 64;
  tilescan_options options = target.Options();
  options.chunk_size = 512;
  tilescan_plan* plan = nullptr;
  EXPECT_EQ(tilescan_plan_scan_forward(&args, &options, &plan), TILESCAN_UNSUPPORTED);
  EXPECT_EQ(plan, nullptr);
  EXPECT_NE(std::string(tilescan_last_error()).find("a workspace of more than 2^48 bytes"),
            std::string::npos)
      << tilescan_last_error();
}

// The values are read on the CPU only.
class WrongIndicesOn : public ::testing::TestWithParam<Target> {};

TEST_P(WrongIndicesOn, CuSeqlensLeaveOutputsUntouched) {
  for (const std::vector<int64_t>& cu_seqlens :
       {std::vector<int64_t>{1, 20}, {0, 9, 5, 20}, {0, 19}, {0, 21}, {0, -4, 20}}) {
    for (const DType dtype : {DType::kInt32, DType::kInt64}) {
      ScanCase c = PackedCase(cu_seqlens);
      c.cu_seqlens_dtype = dtype;
      c.states_every = 3;
      const ScanOperands operands = BuildOperands(c);
      const ScanOperands before = Copy(operands);
      const RunResult result = RunCall(operands, GetParam().Options());
      EXPECT_EQ(result.status, TILESCAN_INVALID_ARGUMENT);
      EXPECT_NE(result.message.find("scan_forward: cu_seqlens["), std::string::npos)
          << result.message;
      ExpectSameBits(operands, before, result.message);
      EXPECT_TRUE(result.surroundings_intact);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrongIndicesOn, ::testing::ValuesIn(HostTargets("scan_forward")),
                         NameOfTest());

class ScanFailureOn : public ::testing::TestWithParam<Target> {};

// 8 heads in 3 groups.
TEST_P(ScanFailureOn, HeadsThatDoNotDivideIntoGroups) {
  ScanCase c = RandomScanCase("C05/scan/g3", {1, 1, 8, 1, 3, 2}, 951);
  const ScanOperands operands = BuildOperands(c);
  const ScanOperands before = Copy(operands);
  const RunResult result = RunCall(operands, GetParam().Options());
  EXPECT_EQ(result.status, TILESCAN_INVALID_ARGUMENT);
  EXPECT_NE(result.message.find("nheads"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("ngroups"), std::string::npos) << result.message;
  ExpectSameBits(operands, before, result.message);
}

TEST_P(ScanFailureOn, AWorkspaceThatIsTooSmall) {
  const ScanOperands operands = BuildOperands(RandomScanCase("small", {1, 20, 2, 4, 1, 4}, 952));
  const ScanOperands before = Copy(operands);
  const tilescan_scan_forward_args args = MakeArgs(operands);
  const tilescan_options options = GetParam().Options();
  tilescan_plan* plan = nullptr;
  ASSERT_EQ(tilescan_plan_scan_forward(&args, &options, &plan), TILESCAN_OK)
      << tilescan_last_error();
  std::vector<char> workspace(tilescan_plan_workspace_bytes(plan));
  ASSERT_GT(workspace.size(), 0u);
  EXPECT_EQ(tilescan_run_scan_forward(plan, &args, workspace.data(), workspace.size() - 1, nullptr),
            TILESCAN_INVALID_ARGUMENT);
  ExpectSameBits(operands, before, tilescan_last_error());
  tilescan_plan_destroy(plan);
}

INSTANTIATE_TEST_SUITE_P(All, ScanFailureOn, ::testing::ValuesIn(AvailableTargets("scan_forward")),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
