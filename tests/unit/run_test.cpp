// What a run checks before its kernel, and what the kernel gets.
#include "plan/run.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <vector>

#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

// Gives every present operand memory of its own.
template <typename Problem>
class BoundArgs {
 public:
  using Args = typename Operation<Problem>::Args;

  explicit BoundArgs(const Args& described) : args(described) {
    for (const auto& field : Operation<Problem>::kFields) {
      tilescan_tensor& tensor = args.*field.described;
      if (tensor.dtype.bits == 0) continue;
      size_t num_elements = 1;
      for (int dim = 0; dim < tensor.ndim; ++dim) {
        num_elements *= static_cast<size_t>(tensor.shape[dim]);
      }
      memory_.emplace_back(num_elements + 1);
      tensor.data = memory_.back().data();
    }
  }

  Args args;

 private:
  std::vector<std::vector<double>> memory_;
};

class RunTest : public testing::Test {
 protected:
  using Args = tilescan_scan_forward_args;

  void SetUp() override {
    CallsOfRows() = Calls();
    bound_ = std::make_unique<BoundArgs<ScanForwardProblem>>(ExamplePacked());
    plan_ = MakeScan(ExamplePacked());
    workspace_.resize(plan_->workspace_bytes());
    place_ = {workspace_.data(), workspace_.size(), nullptr};
  }

  static std::unique_ptr<const Plan> MakeScan(const Args& args) {
    std::unique_ptr<const Plan> plan;
    const Status status = MakePlan<ScanForwardProblem>(args, nullptr, ExampleFacts(),
                                                       ExampleRows<ScanForwardProblem>(), &plan);
    EXPECT_EQ(status.message(), "");
    return plan;
  }

  // Plans for a row that computes on a stream.
  void MakePlanOnGpu() {
    static const Variant<ScanForwardProblem> rows[] = {[] {
      Variant<ScanForwardProblem> row = ExampleRow<ScanForwardProblem, 1>("cuda", "tiles", "");
      row.takes_stream = true;
      return row;
    }()};
    tilescan_options options = {};
    options.struct_size = sizeof(options);
    options.backend = "cuda";
    const Status status =
        MakePlan<ScanForwardProblem>(ExamplePacked(), &options, ExampleFacts(), {rows}, &plan_);
    EXPECT_EQ(status.message(), "");
  }

  // The message of a run; a run that is refused must not reach the kernel.
  std::string Message() {
    const int num_run_before = CallsOfRows().num_run;
    const Status status = RunPlan<ScanForwardProblem>(*plan_, args(), place_);
    EXPECT_EQ(CallsOfRows().num_run, num_run_before + (status.ok() ? 1 : 0));
    EXPECT_TRUE(status.ok() || status.code() == TILESCAN_INVALID_ARGUMENT);
    return status.message();
  }

  Args& args() { return bound_->args; }

  std::unique_ptr<BoundArgs<ScanForwardProblem>> bound_;
  std::unique_ptr<const Plan> plan_;
  std::vector<std::byte> workspace_;
  Place place_;
};

TEST_F(RunTest, GivesTheKernelTheDataAndThePlace) {
  EXPECT_EQ(Message(), "");
  const ScanForwardProblem& problem = ProblemOfLastRun<ScanForwardProblem>();
  EXPECT_EQ(problem.operands.x.data, args().x.data);
  EXPECT_EQ(problem.operands.states_out.data, args().states_out.data);
  EXPECT_EQ(problem.operands.seq_idx.data, nullptr);
  EXPECT_EQ(problem.operands.states_every, 5);
  EXPECT_EQ(problem.sizes.num_seqs, 3);
  EXPECT_EQ(CallsOfRows().workspace, workspace_.data());
  EXPECT_EQ(CallsOfRows().schedule.num_threads, 8);
}

TEST_F(RunTest, GivesTheKernelTheNormalFormOfAStateUpdate) {
  std::unique_ptr<const Plan> plan;
  tilescan_state_update_args described = ExampleStateUpdate();
  described.A = Described(tilescan_float32(), {6, 8, 5});
  described.A.strides[0] = 1;
  described.A.strides[1] = described.A.strides[2] = 0;
  ASSERT_TRUE(MakePlan<StateUpdateProblem>(described, nullptr, ExampleFacts(),
                                           ExampleRows<StateUpdateProblem>(), &plan)
                  .ok());
  BoundArgs<StateUpdateProblem> bound(described);
  EXPECT_EQ(RunPlan<StateUpdateProblem>(*plan, bound.args, place_).message(), "");
  const StateUpdateOperands& operands = ProblemOfLastRun<StateUpdateProblem>().operands;
  EXPECT_EQ(operands.x.ndim, 4);
  EXPECT_EQ(operands.x.data, bound.args.x.data);
  EXPECT_EQ(operands.A.ndim, 1);
  EXPECT_EQ(operands.A.strides[0], 1);
  EXPECT_EQ(operands.A.data, bound.args.A.data);
}

TEST_F(RunTest, ReturnsTheKernelsStatus) {
  CallsOfRows().run_status = Status::Internal("the kernel's own");
  EXPECT_EQ(RunPlan<ScanForwardProblem>(*plan_, args(), place_).message(), "the kernel's own");
}

TEST_F(RunTest, RefusesAPlanOfAnotherOperation) {
  BoundArgs<StateUpdateProblem> bound(ExampleStateUpdate());
  EXPECT_EQ(RunPlan<StateUpdateProblem>(*plan_, bound.args, place_).message(),
            "state_update: plan is of scan_forward");
}

TEST_F(RunTest, RefusesAnotherShape) {
  args().x.shape[1] = 11;
  EXPECT_EQ(Message(),
            "scan_forward: x is float32 (1, 11, 6, 8) with strides (576, 48, 8, 1), expected as "
            "planned: float32 (1, 12, 6, 8) with strides (0, 48, 8, 1)");
}

TEST_F(RunTest, RefusesOtherStrides) {
  args().dt.strides[1] = 8;
  EXPECT_EQ(Message(),
            "scan_forward: dt is float32 (1, 12, 6) with strides (72, 8, 1), expected as planned: "
            "float32 (1, 12, 6) with strides (0, 6, 1)");
}

TEST_F(RunTest, LetsTheStrideOfASizeOfOneBe) {
  args().x.strides[0] = 12345;
  EXPECT_EQ(Message(), "");
}

TEST_F(RunTest, RefusesAnotherDType) {
  args().A.dtype = tilescan_float16();
  EXPECT_EQ(Message(),
            "scan_forward: A is float16 (6) with strides (1), expected as planned: float32 (6) "
            "with strides (1)");
}

TEST_F(RunTest, RefusesANonsenseDescription) {
  args().A.ndim = 99;
  EXPECT_EQ(Message(),
            "scan_forward: A is float32 with ndim 99, expected as planned: float32 (6) with "
            "strides (1)");
}

TEST_F(RunTest, RefusesAnAbsentOperand) {
  args().z = tilescan_tensor{};
  EXPECT_EQ(Message(),
            "scan_forward: z is absent, expected as planned: float32 (1, 12, 6, 8) with strides "
            "(0, 48, 8, 1)");
}

TEST_F(RunTest, RefusesAnOperandThatWasNotPlanned) {
  args().seq_idx = Described(tilescan_int32(), {1, 12});
  EXPECT_EQ(Message(),
            "scan_forward: seq_idx is int32 (1, 12) with strides (12, 1), expected as planned: "
            "absent");
}

TEST_F(RunTest, RefusesOtherOptions) {
  args().states_every = 4;
  args().dt_softplus = 1;
  args().dt_limit[0] = 0.5f;
  args().dt_limit[1] = 1.0f;
  EXPECT_EQ(Message(),
            "scan_forward: states_every is 4, expected as planned: 5; dt_softplus is 1, expected "
            "as planned: 0; dt_limit[0] is 0.5, expected as planned: 0; dt_limit[1] is 1, expected "
            "as planned: inf");
}

TEST_F(RunTest, RefusesAStructThatWasNotInitialised) {
  args().struct_size = 3;
  EXPECT_EQ(Message().find("scan_forward: args.struct_size is 3, expected "), 0u);
}

TEST_F(RunTest, RefusesMissingData) {
  args().B.data = nullptr;
  EXPECT_EQ(Message(), "scan_forward: B has data NULL, expected the address of its first element");
}

TEST_F(RunTest, RefusesMisalignedData) {
  args().A.data = static_cast<char*>(args().A.data) + 2;
  const std::string message = Message();
  EXPECT_EQ(message.find("scan_forward: A has data 0x"), 0u) << message;
  EXPECT_NE(message.find(", expected a multiple of 4 because it is float32"), std::string::npos);
}

TEST_F(RunTest, AllowsNoDataWhereThereIsNoElement) {
  tilescan_scan_forward_args empty = ExampleScanForward();
  for (tilescan_tensor* tensor : {&empty.x, &empty.dt, &empty.B, &empty.C, &empty.out}) {
    tensor->shape[1] = 0;
  }
  plan_ = MakeScan(empty);
  bound_ = std::make_unique<BoundArgs<ScanForwardProblem>>(empty);
  for (tilescan_tensor* tensor : {&args().x, &args().dt, &args().B, &args().C, &args().out}) {
    tensor->data = nullptr;
  }
  EXPECT_EQ(Message(), "");
}

// ---- memory apart ----

TEST_F(RunTest, RefusesAnOutputOverAnInput) {
  args().out.data = args().z.data;
  EXPECT_EQ(Message(),
            "scan_forward: out overlaps z, expected memory apart from every other operand");
}

TEST_F(RunTest, NamesTwoOutputsOnce) {
  args().states_out.data = static_cast<float*>(args().final_states.data) + 3;
  EXPECT_NE(Message().find("final_states overlaps states_out, expected memory apart"),
            std::string::npos);
  EXPECT_EQ(Message().find("states_out overlaps final_states"), std::string::npos);
}

TEST_F(RunTest, AllowsFinalStatesInPlaceOfInitialStates) {
  args().final_states.data = args().initial_states.data;
  EXPECT_EQ(Message(), "");
}

TEST_F(RunTest, RefusesFinalStatesInPlaceWithAnotherLayout) {
  tilescan_scan_forward_args described = ExamplePacked();
  described.final_states.dtype = tilescan_bfloat16();
  plan_ = MakeScan(described);
  bound_ = std::make_unique<BoundArgs<ScanForwardProblem>>(described);
  args().final_states.data = args().initial_states.data;
  EXPECT_EQ(Message(),
            "scan_forward: final_states overlaps initial_states, expected memory apart from every "
            "other operand");
}

TEST_F(RunTest, RefusesFinalStatesShiftedAgainstInitialStates) {
  args().final_states.data = static_cast<float*>(args().initial_states.data) + 1;
  EXPECT_EQ(Message(),
            "scan_forward: final_states overlaps initial_states, expected memory apart from every "
            "other operand");
}

// ---- workspace and stream ----

TEST_F(RunTest, RefusesASmallWorkspace) {
  place_.workspace_bytes = 1007;
  EXPECT_EQ(Message(), "scan_forward: workspace has 1007 bytes, expected 1008 or more");
}

TEST_F(RunTest, RefusesNoWorkspace) {
  place_.workspace = nullptr;
  EXPECT_EQ(Message(), "scan_forward: workspace has 0 bytes, expected 1008 or more");
}

TEST_F(RunTest, RefusesAWorkspaceOverAnOperand) {
  place_.workspace = args().x.data;
  EXPECT_NE(Message().find("workspace overlaps x"), std::string::npos);
}

TEST_F(RunTest, RefusesLessAlignmentThanPlannedOnAGpu) {
  MakePlanOnGpu();
  void* const data = args().x.data;
  args().x.data = static_cast<char*>(data) + 4;
  std::ostringstream expected;
  expected << "scan_forward: x has data " << args().x.data
           << ", expected a multiple of 16 as planned";
  EXPECT_EQ(Message(), expected.str());
}

TEST_F(RunTest, TakesAStreamOnAGpu) {
  MakePlanOnGpu();
  place_.stream = this;
  EXPECT_EQ(Message(), "");
  EXPECT_EQ(CallsOfRows().stream, this);
}

TEST_F(RunTest, RefusesAStream) {
  place_.stream = this;
  EXPECT_EQ(Message(),
            "scan_forward: stream is not NULL, expected NULL because this backend runs on the CPU");
}

}  // namespace
}  // namespace tilescan::plan
