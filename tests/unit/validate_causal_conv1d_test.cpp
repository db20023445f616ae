// What planning says of wrong convolutions, and what it makes of right ones.
#include <gtest/gtest.h>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

template <typename Args>
auto ProblemFrom(const Args& args) {
  Violations violations("operation");
  const auto validated = Validate(args, &violations);
  EXPECT_EQ(violations.ToStatus().message(), "");
  return validated.problem;
}

TEST(ValidateConv, AcceptsEveryOperand) {
  for (const tilescan_dtype dtype :
       {tilescan_float32(), tilescan_bfloat16(), tilescan_float16(), tilescan_float64()}) {
    EXPECT_EQ(MessageFor(ExampleConv(dtype)), "");
  }
  const CausalConv1dForwardProblem problem = ProblemFrom(ExampleConv());
  EXPECT_EQ(problem.sizes.num_seqs, 2);
  EXPECT_EQ(problem.sizes.width, 4);
  EXPECT_FALSE(problem.operands.has_silu);
}

TEST(ValidateConv, AcceptsPackedSequences) {
  tilescan_causal_conv1d_forward_args args = ExampleConv();
  args.x = args.out = Described(tilescan_float32(), {1, 12, 6});
  args.seq_idx = {};
  args.cu_seqlens = Described(tilescan_int64(), {4});
  args.initial_states = args.final_states = Described(tilescan_float32(), {3, 6, 3});
  args.activation = TILESCAN_ACTIVATION_SILU;
  const CausalConv1dForwardProblem problem = ProblemFrom(args);
  EXPECT_EQ(problem.sizes.num_seqs, 3);
  EXPECT_TRUE(problem.operands.has_silu);
}

TEST(ValidateConv, NamesWhatIsMissing) {
  EXPECT_EQ(MessageFor(DefaultCausalConv1dForwardArgs()),
            "causal_conv1d_forward: x is required, but absent; weight is required, but absent; out "
            "is required, but absent");
}

TEST(ValidateConv, ComparesShapes) {
  tilescan_causal_conv1d_forward_args args = ExampleConv();
  args.weight = Described(tilescan_float32(), {7, 3});
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_forward: weight has shape (7, 3), expected (6, width) because x is "
            "(2, 12, 6)");
  args = ExampleConv();
  args.weight = Described(tilescan_float32(), {6, 3});
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_forward: initial_states has shape (2, 6, 3), expected (2, 6, 2) because "
            "weight is (6, 3); final_states has shape (2, 6, 3), expected (2, 6, 2) because weight "
            "is (6, 3)");
  args = ExampleConv();
  args.bias = Described(tilescan_float32(), {5});
  args.out = Described(tilescan_float32(), {2, 6, 12});
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_forward: bias has shape (5), expected (6) because x is (2, 12, 6); out "
            "has shape (2, 6, 12), expected (2, 12, 6) because x is (2, 12, 6)");
}

TEST(ValidateConv, TakesWidthsTwoToFour) {
  for (const int64_t width : {1, 2, 3, 4, 5}) {
    tilescan_causal_conv1d_forward_args args = ExampleConv();
    args.weight = Described(tilescan_float32(), {6, width});
    args.initial_states = args.final_states = {};
    const std::string shape = "(6, " + std::to_string(width) + ")";
    EXPECT_EQ(MessageFor(args),
              width >= 2 && width <= 4
                  ? ""
                  : "causal_conv1d_forward: weight has shape " + shape + ", expected width 2 to 4");
  }
}

TEST(ValidateConv, ComparesDTypesAndOptions) {
  tilescan_causal_conv1d_forward_args args = ExampleConv();
  args.out.dtype = tilescan_bfloat16();
  args.weight.dtype = tilescan_float64();
  args.activation = 3;
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_forward: weight has dtype float64, expected float32, bfloat16 or "
            "float16 because x is float32; out has dtype bfloat16, expected float32 because x is "
            "float32; activation is 3, expected TILESCAN_ACTIVATION_NONE (0) or "
            "TILESCAN_ACTIVATION_SILU (1)");
}

TEST(ValidateConv, RefusesOutputsThatOverlapThemselves) {
  tilescan_causal_conv1d_forward_args args = ExampleConv();
  args.out.strides[1] = 0;
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_forward: out has shape (2, 12, 6) and strides (72, 0, 1), expected "
            "strides that give each element of an output its own place");
}

TEST(ValidateConvUpdate, AcceptsStepsWithAndWithoutTokens) {
  const CausalConv1dUpdateProblem problem = ProblemFrom(ExampleConvUpdate());
  EXPECT_EQ(problem.sizes.num_tokens, 3);
  EXPECT_EQ(problem.sizes.num_slots, 7);
  EXPECT_EQ(problem.sizes.state_len, 5);
  tilescan_causal_conv1d_update_args args = ExampleConvUpdate();
  args.x = args.out = Described(tilescan_float32(), {2, 6});
  const CausalConv1dUpdateProblem step = ProblemFrom(args);
  EXPECT_EQ(step.sizes.num_tokens, 1);
  EXPECT_EQ(step.operands.x.ndim, 3);
  EXPECT_EQ(step.operands.x.shape[2], 6);
  EXPECT_EQ(step.operands.out.strides[2], 1);
}

TEST(ValidateConvUpdate, ComparesShapes) {
  tilescan_causal_conv1d_update_args args = ExampleConvUpdate();
  args.conv_state = Described(tilescan_float32(), {7, 6, 2});
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_update: conv_state has state_len 2, expected 3 or more because weight "
            "is (6, 4)");
  args = ExampleConvUpdate();
  args.conv_state_indices = {};
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_update: conv_state has shape (7, 6, 5), expected (2, 6, state_len) "
            "because x is (2, 3, 6)");
  args = ExampleConvUpdate();
  args.out = Described(tilescan_float32(), {2, 6});
  EXPECT_EQ(MessageFor(args), "causal_conv1d_update: out has shape (2, 6), expected (2, 3, 6)");
}

TEST(ValidateConvUpdate, ComparesDTypes) {
  tilescan_causal_conv1d_update_args args = ExampleConvUpdate();
  args.conv_state_indices.dtype = tilescan_float32();
  args.cache_seqlens.dtype = tilescan_int64();
  EXPECT_EQ(MessageFor(args),
            "causal_conv1d_update: conv_state_indices has dtype float32, expected int32 or int64; "
            "cache_seqlens has dtype int64, expected int32");
}

}  // namespace
}  // namespace tilescan::plan
