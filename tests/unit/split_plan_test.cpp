// A plan of split_conv1d_scan_forward: the plans of its parts, and what their kernels get.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/describe.h"
#include "plan/run.h"
#include "plan/split_parts.h"
#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

using Split = SplitConv1dScanForwardProblem;
using Args = tilescan_split_conv1d_scan_forward_args;

class SplitPlan : public testing::Test {
 protected:
  void SetUp() override { CallsOfRows() = Calls(); }

  std::string Plan(const Args& args, const tilescan_options* options = nullptr) {
    return MakePlan<Split>(args, options, ExampleFacts(), ExampleRowsOfSplit(), &plan_).message();
  }

  // Gives every present operand memory of its own.
  void Bind(Args* args) {
    for (const auto& field : Operation<Split>::kFields) {
      tilescan_tensor& tensor = args->*field.described;
      if (tensor.dtype.bits == 0) continue;
      memory_.emplace_back(2 * 12 * 132 + 1);
      tensor.data = memory_.back().data();
    }
  }

  std::string Run(const Args& args, size_t workspace_bytes) {
    workspace_.resize(plan_->workspace_bytes() + 1);
    const Place place = {workspace_.data() + 1, workspace_bytes, nullptr};
    return RunPlan<Split>(*plan_, args, place).message();
  }

  static tilescan_options DefaultOptions() {
    tilescan_options options = {};
    options.struct_size = sizeof(options);
    return options;
  }

  std::unique_ptr<const class Plan> plan_;
  std::vector<std::vector<double>> memory_;
  std::vector<std::byte> workspace_;
};

TEST_F(SplitPlan, HoldsThoseOfItsParts) {
  tilescan_options options = DefaultOptions();
  options.kernel = "stepwise";
  options.chunk_size = 16;
  options.num_threads = 3;
  ASSERT_EQ(Plan(ExampleSplit(), &options), "");
  EXPECT_EQ(CallsOfRows().num_prepared, 3);
  const auto described = nlohmann::json::parse(DescribePlan(*plan_));
  EXPECT_EQ(described["operation"], "split_conv1d_scan_forward");
  EXPECT_EQ(described["kernel"], "stepwise");
  EXPECT_EQ(described["chunk_size"], 16);
  EXPECT_EQ(described["num_threads"], 3);
  EXPECT_EQ(described["sizes"]["group_size"], 16);
  EXPECT_EQ(described["workspace_bytes"], plan_->workspace_bytes());
  const auto& parts = described["parts"];
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0]["sizes"]["dim"], 78);
  EXPECT_EQ(parts[0]["kernel"], "chunked");
  EXPECT_EQ(parts[0]["num_threads"], 3);
  EXPECT_EQ(parts[1]["kernel"], "stepwise");
  EXPECT_EQ(parts[1]["sizes"]["headdim"], 8);
  EXPECT_EQ(parts[2]["sizes"]["dim"], 48);
  EXPECT_EQ(parts[2]["sizes"]["group_size"], 16);
}

TEST_F(SplitPlan, SaysWhichPartCannot) {
  tilescan_options options = DefaultOptions();
  options.instruction_set = "avx512";
  const std::string message = Plan(ExampleSplit(), &options);
  EXPECT_EQ(message.rfind("split_conv1d_scan_forward: causal_conv1d_forward: no kernel can do "
                          "this; not cpu/chunked/scalar: ",
                          0),
            0u)
      << message;
}

TEST_F(SplitPlan, NamesTheScansKernels) {
  tilescan_options options = DefaultOptions();
  options.kernel = "none";
  EXPECT_EQ(Plan(ExampleSplit(), &options),
            "split_conv1d_scan_forward: options.kernel is \"none\", expected \"chunked\", "
            "\"stepwise\" or \"recurrence\"");
}

TEST_F(SplitPlan, RefusesAWorkspaceBeyondAllMemory) {
  Args args = ExampleSplit(tilescan_float64());
  const int64_t seqlen = 260'000'000'000;
  args.zxbcdt.shape[1] = args.out.shape[1] = seqlen;
  args.zxbcdt.strides[0] = args.out.strides[0] = seqlen * 132;
  args.seq_idx = {};
  EXPECT_EQ(Plan(args), "split_conv1d_scan_forward: needs a workspace of more than 2^48 bytes");
}

TEST_F(SplitPlan, GivesPartsViewsOfItsOperandsAndWorkspace) {
  ASSERT_EQ(Plan(ExampleSplit()), "");
  Args args = ExampleSplit();
  Bind(&args);
  EXPECT_EQ(Run(args, plan_->workspace_bytes()), "");
  EXPECT_EQ(CallsOfRows().num_run, 3);
  const auto floats = static_cast<float*>(args.zxbcdt.data);
  const auto& conv = ProblemOfLastRun<CausalConv1dForwardProblem>().operands;
  const auto& scan = ProblemOfLastRun<ScanForwardProblem>().operands;
  const auto& norm = ProblemOfLastRun<RmsNormGatedForwardProblem>().operands;
  EXPECT_EQ(conv.x.data, floats + 48);
  EXPECT_EQ(conv.x.shape[2], 78);
  EXPECT_EQ(conv.x.strides[1], 132);
  EXPECT_EQ(conv.initial_states.data, args.conv_initial_states.data);
  EXPECT_EQ(conv.final_states.data, args.conv_final_states.data);
  const auto xBC = static_cast<float*>(conv.out.data);
  EXPECT_GE(conv.out.data, workspace_.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(xBC) % Carver::kAlignment, 0u);
  EXPECT_EQ(scan.x.data, xBC);
  EXPECT_EQ(scan.B.data, xBC + 48);
  EXPECT_EQ(scan.C.data, xBC + 63);
  EXPECT_EQ(scan.C.strides, (std::array<int64_t, 5>{12 * 78, 78, 5, 1, 0}));
  EXPECT_EQ(scan.dt.data, floats + 126);
  EXPECT_FALSE(scan.z.present());
  EXPECT_EQ(scan.out.data, args.out.data);
  EXPECT_EQ(scan.out.shape, (std::array<int64_t, 5>{2, 12, 6, 8, 0}));
  EXPECT_EQ(norm.x.data, args.out.data);
  EXPECT_EQ(norm.out.data, args.out.data);
  EXPECT_EQ(norm.z.data, floats);
  // What the last part has for itself lies behind xBC.
  const auto* of_part = static_cast<std::byte*>(CallsOfRows().workspace);
  EXPECT_GE(of_part, reinterpret_cast<std::byte*>(xBC + 2 * 12 * 78));
  EXPECT_LE(of_part + 1008, workspace_.data() + workspace_.size());
}

TEST_F(SplitPlan, GivesZToTheScanWithoutANorm) {
  Args args = ExampleSplit();
  args.rmsnorm_weight = {};
  ASSERT_EQ(Plan(args), "");
  Bind(&args);
  EXPECT_EQ(Run(args, plan_->workspace_bytes()), "");
  EXPECT_EQ(CallsOfRows().num_run, 2);
  EXPECT_EQ(ProblemOfLastRun<ScanForwardProblem>().operands.z.data, args.zxbcdt.data);
}

TEST_F(SplitPlan, KnowsWhichPartsAreAligned) {
  Split problem = ProblemOf(ExampleSplit(tilescan_bfloat16()));
  const SplitParts parts = MakeSplitParts(problem, nullptr);
  EXPECT_TRUE(parts.norm.operands.z.is_aligned);
  EXPECT_TRUE(parts.conv.operands.x.is_aligned);    // 96 bytes on
  EXPECT_FALSE(parts.scan.operands.dt.is_aligned);  // 252 bytes on
  EXPECT_TRUE(parts.scan.operands.B.is_aligned);
  EXPECT_FALSE(parts.scan.operands.C.is_aligned);  // 126 bytes on
  problem.operands.zxbcdt.is_aligned = false;
  EXPECT_FALSE(MakeSplitParts(problem, nullptr).norm.operands.z.is_aligned);
  EXPECT_EQ(parts.conv.operands.out.data, nullptr);
  EXPECT_EQ(parts.scan.operands.B.data, nullptr);
}

TEST_F(SplitPlan, ChecksRuns) {
  ASSERT_EQ(Plan(ExampleSplit()), "");
  Args args = ExampleSplit();
  Bind(&args);
  const size_t num_bytes = plan_->workspace_bytes();
  EXPECT_EQ(Run(args, num_bytes - 1), "split_conv1d_scan_forward: workspace has " +
                                          std::to_string(num_bytes - 1) + " bytes, expected " +
                                          std::to_string(num_bytes) + " or more");
  args.ngroups = 1;
  args.activation = TILESCAN_ACTIVATION_SILU;
  args.rmsnorm_eps = 0.5f;
  args.dt_softplus = 1;
  EXPECT_EQ(Run(args, num_bytes),
            "split_conv1d_scan_forward: ngroups is 1, expected as planned: 3; rmsnorm_eps is 0.5, "
            "expected as planned: 1e-05; activation is 1, expected as planned: 0; dt_softplus is "
            "1, expected as planned: 0");
  args = ExampleSplit();
  Bind(&args);
  args.out.data = args.zxbcdt.data;
  EXPECT_EQ(Run(args, num_bytes),
            "split_conv1d_scan_forward: out overlaps zxbcdt, expected memory apart from every "
            "other operand");
  args = ExampleSplit();
  Bind(&args);
  args.final_states.data = args.initial_states.data;
  args.conv_final_states.data = args.conv_initial_states.data;
  EXPECT_EQ(CallsOfRows().num_run, 0);
  EXPECT_EQ(Run(args, num_bytes), "");
}

TEST_F(SplitPlan, ReportsAFailureUnderItsName) {
  ASSERT_EQ(Plan(ExampleSplit()), "");
  Args args = ExampleSplit();
  Bind(&args);
  CallsOfRows().run_status = Status::Internal("the kernel failed");
  EXPECT_EQ(Run(args, plan_->workspace_bytes()), "split_conv1d_scan_forward: the kernel failed");
  EXPECT_EQ(CallsOfRows().num_run, 1);
}

}  // namespace
}  // namespace tilescan::plan
