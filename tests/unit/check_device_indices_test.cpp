// The check of indices in a GPU's memory, with a GPU whose memory is the host's.
#include "plan/check_device_indices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/check_indices.h"
#include "plan/plan.h"
#include "plan/run.h"
#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

struct Reads {
  int count = 0;
  void* stream = nullptr;
  Status status;
};
Reads& ReadsOfTest() {
  static Reads reads;
  return reads;
}

Status ReadFake(void* to, const void* from, size_t num_bytes, void* stream) {
  ++ReadsOfTest().count;
  ReadsOfTest().stream = stream;
  if (ReadsOfTest().status.ok()) std::memcpy(to, from, num_bytes);
  return ReadsOfTest().status;
}

TensorView ViewOf(void* data, DType dtype, int64_t size, int64_t stride) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.ndim = 1;
  view.shape[0] = size;
  view.strides[0] = stride;
  return view;
}

class CheckDeviceIndicesTest : public testing::Test {
 protected:
  void SetUp() override { ReadsOfTest() = Reads(); }

  // Both of the check: what it says must be what CheckIndices() says.
  template <typename Problem>
  std::string Message(const Problem& problem) {
    const std::string message = CheckDeviceIndices(problem, ReadFake, this).message();
    EXPECT_EQ(message, CheckIndices(problem).message());
    return message;
  }
};

TEST_F(CheckDeviceIndicesTest, ReadsNothingWithoutIndices) {
  EXPECT_EQ(Message(ScanForwardProblem()), "");
  EXPECT_EQ(Message(StateUpdateProblem()), "");
  EXPECT_EQ(ReadsOfTest().count, 0);
}

TEST_F(CheckDeviceIndicesTest, ReadsCompactOnesAtOnce) {
  std::vector<int32_t> values = {0, 9, 5, 20};
  ScanForwardProblem problem;
  problem.sizes.seqlen = 20;
  problem.sizes.num_seqs = 3;
  problem.operands.cu_seqlens = ViewOf(values.data(), DType::kInt32, 4, 1);
  EXPECT_EQ(Message(problem),
            "scan_forward: cu_seqlens[2] is 5, expected at least cu_seqlens[1], which is 9");
  EXPECT_EQ(ReadsOfTest().count, 1);
  EXPECT_EQ(ReadsOfTest().stream, this);
  values[1] = 4;
  EXPECT_EQ(Message(problem), "");
}

TEST_F(CheckDeviceIndicesTest, ReadsStridedOnes) {
  std::vector<int64_t> slots = {5, -77, 7, -77, 0};  // from the end: 0, 7, 5
  std::vector<int32_t> num_accepted = {3, -77, 0, -77, 2};
  StateUpdateProblem problem;
  problem.sizes.batch = 3;
  problem.sizes.num_tokens = 2;
  problem.sizes.num_slots = 8;
  problem.operands.state_batch_indices = ViewOf(&slots[4], DType::kInt64, 3, -2);
  problem.operands.num_accepted = ViewOf(num_accepted.data(), DType::kInt32, 3, 2);
  EXPECT_EQ(Message(problem), "state_update: num_accepted[0] is 3, expected 0 to T, which is 2");
  num_accepted[0] = 1;
  EXPECT_EQ(Message(problem), "");
  slots[0] = 7;
  EXPECT_EQ(Message(problem),
            "state_update: state_batch_indices[2] is 7, expected each slot once: "
            "state_batch_indices[1] is the same");
}

TEST_F(CheckDeviceIndicesTest, NamesTheOperationWhenReadingFails) {
  int32_t value = 0;
  StateUpdateProblem problem;
  problem.sizes.batch = 1;
  problem.operands.num_accepted = ViewOf(&value, DType::kInt32, 1, 1);
  ReadsOfTest().status = Status::InvalidArgument("being captured");
  const Status status = CheckDeviceIndices(problem, ReadFake, nullptr);
  EXPECT_EQ(status.code(), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "state_update: being captured");
}

// A run on a GPU checks where the plan's options ask for it, before the kernel.
class CheckedRunTest : public CheckDeviceIndicesTest {
 protected:
  // The status of a run of one slot, which is wrong, on a row that computes on a GPU or not.
  static Status Run(bool takes_stream, int32_t check_indices) {
    static Variant<StateUpdateProblem> row = ExampleRow<StateUpdateProblem, 1>("cuda", "step", "");
    row.takes_stream = takes_stream;
    row.workspace_bytes = [](const StateUpdateProblem&, const Schedule&) { return size_t{0}; };
    tilescan_options options = {};
    options.struct_size = sizeof(options);
    options.backend = "cuda";
    options.check_indices = check_indices;
    tilescan_state_update_args args = ExampleStateUpdate();
    args.state_batch_indices = Described(tilescan_int32(), {2});
    std::unique_ptr<const Plan> plan;
    const Status planned = MakePlan<StateUpdateProblem>(
        args, &options, ExampleFacts(), {std::span<const Variant<StateUpdateProblem>>(&row, 1)},
        &plan);
    EXPECT_EQ(planned.message(), "");
    std::vector<std::vector<double>> memory;
    for (const auto& field : Operation<StateUpdateProblem>::kFields) {
      if ((args.*field.described).dtype.bits == 0) continue;
      memory.emplace_back(1000);
      (args.*field.described).data = memory.back().data();
    }
    static_cast<int32_t*>(args.state_batch_indices.data)[1] = 2;  // of slots 0 and 1
    CallsOfRows() = Calls();
    return RunPlan<StateUpdateProblem>(*plan, args, {nullptr, 0, nullptr, ReadFake});
  }
};

TEST_F(CheckedRunTest, RefusesBeforeTheKernel) {
  const Status status = Run(true, 1);
  EXPECT_EQ(status.code(), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "state_update: state_batch_indices[1] is 2, expected less than slots, which is 2");
  EXPECT_EQ(CallsOfRows().num_run, 0);
}

TEST_F(CheckedRunTest, LooksAtNothingUnlessAsked) {
  EXPECT_EQ(Run(true, 0).message(), "");
  EXPECT_EQ(ReadsOfTest().count, 0);
  EXPECT_EQ(CallsOfRows().num_run, 1);
}

TEST_F(CheckedRunTest, LeavesRowsOnTheCpuToThemselves) {
  EXPECT_EQ(Run(false, 1).message(), "");
  EXPECT_EQ(ReadsOfTest().count, 0);
  EXPECT_EQ(CallsOfRows().num_run, 1);
}

}  // namespace
}  // namespace tilescan::plan
