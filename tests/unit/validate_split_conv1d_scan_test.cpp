// What planning says of wrong layers, each by the names of this operation's arguments, and what it
// makes of right ones.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

using Args = tilescan_split_conv1d_scan_forward_args;

constexpr const char* kSizesReason =
    "zxbcdt is (2, 12, 132), conv1d_weight is (78, 4), A is (6) and ngroups is 3";

std::string Message(const std::string& violation) {
  return "split_conv1d_scan_forward: " + violation;
}

TEST(ValidateSplit, DerivesSizes) {
  Violations violations("operation");
  const SplitConv1dScanForwardSizes sizes = Validate(ExampleSplit(), &violations).problem.sizes;
  EXPECT_EQ(violations.ToStatus().message(), "");
  EXPECT_EQ(sizes.batch, 2);
  EXPECT_EQ(sizes.seqlen, 12);
  EXPECT_EQ(sizes.nheads, 6);
  EXPECT_EQ(sizes.headdim, 8);
  EXPECT_EQ(sizes.ngroups, 3);
  EXPECT_EQ(sizes.dstate, 5);
  EXPECT_EQ(sizes.width, 4);
  EXPECT_EQ(sizes.group_size, 16);
  EXPECT_EQ(sizes.num_seqs, 2);
  EXPECT_EQ(sizes.conv_dim(), 78);
}

TEST(ValidateSplit, AcceptsPackedSequences) {
  Args args = ExampleSplit();
  args.seq_idx = {};
  args.cu_seqlens = Described(tilescan_int64(), {4});
  args.zxbcdt.shape[0] = args.out.shape[0] = 1;
  for (tilescan_tensor* states : {&args.conv_initial_states, &args.conv_final_states,
                                  &args.initial_states, &args.final_states}) {
    states->shape[0] = 3;
  }
  EXPECT_EQ(MessageFor(args), "");
  args.seq_idx = Described(tilescan_int32(), {1, 12});
  EXPECT_EQ(MessageFor(args),
            Message("seq_idx and cu_seqlens are both given, expected at most one of them"));
}

TEST(ValidateSplit, NamesWhatIsMissing) {
  EXPECT_EQ(MessageFor(DefaultSplitConv1dScanForwardArgs()),
            Message("zxbcdt is required, but absent; conv1d_weight is required, but absent; A is "
                    "required, but absent; out is required, but absent"));
}

TEST(ValidateSplit, ComparesShapes) {
  struct Wrong {
    tilescan_tensor Args::*operand;
    std::initializer_list<int64_t> shape;
    std::string violation;
  };
  const std::string because = std::string(" because ") + kSizesReason;
  const Wrong kWrong[] = {
      {&Args::conv1d_bias,
       {77},
       "conv1d_bias has shape (77), expected (78) because conv1d_weight "
       "is (78, 4)"},
      {&Args::dt_bias, {5}, "dt_bias has shape (5), expected (6) because A is (6)"},
      {&Args::D, {6, 7}, "D has shape (6, 7), expected (6, 8)" + because},
      {&Args::rmsnorm_weight, {47}, "rmsnorm_weight has shape (47), expected (48)" + because},
      {&Args::conv_initial_states,
       {2, 78, 4},
       "conv_initial_states has shape (2, 78, 4), expected (2, 78, 3) because conv1d_weight is "
       "(78, "
       "4)"},
      {&Args::initial_states,
       {2, 6, 8, 6},
       "initial_states has shape (2, 6, 8, 6), expected (2, 6, 8, 5)" + because},
      {&Args::seq_idx,
       {2, 11},
       "seq_idx has shape (2, 11), expected (2, 12) because zxbcdt is (2, "
       "12, 132)"},
      {&Args::out, {2, 12, 49}, "out has shape (2, 12, 49), expected (2, 12, 48)" + because},
      {&Args::conv_final_states,
       {3, 78, 3},
       "conv_final_states has shape (3, 78, 3), expected (2, 78, 3) because zxbcdt is (2, 12, "
       "132)"},
      {&Args::final_states,
       {2, 3, 8, 5},
       "final_states has shape (2, 3, 8, 5), expected (2, 6, 8, 5) because A is (6)"},
      {&Args::conv1d_weight,
       {79, 4},
       "zxbcdt has shape (2, 12, 132), expected (batch, seqlen, dim + conv_dim + nheads) with dim "
       "= "
       "nheads * headdim and conv_dim = dim + 2 * ngroups * dstate because conv1d_weight is (79, "
       "4), "
       "A is (6) and ngroups is 3"},
  };
  for (const Wrong& wrong : kWrong) {
    Args args = ExampleSplit();
    args.*wrong.operand = Described((args.*wrong.operand).dtype, wrong.shape);
    const std::string message = MessageFor(args);
    EXPECT_EQ(message.substr(0, Message(wrong.violation).size()), Message(wrong.violation));
    // A wrong weight makes the sizes unknown, and the bias and states wrong too.
    if (wrong.operand != &Args::conv1d_weight) {
      EXPECT_EQ(message, Message(wrong.violation));
    }
  }
}

TEST(ValidateSplit, ComparesWidthAndGroups) {
  Args args = ExampleSplit();
  args.conv1d_weight = Described(tilescan_float32(), {78, 5});
  args.conv_initial_states = args.conv_final_states = Described(tilescan_float32(), {2, 78, 4});
  EXPECT_EQ(MessageFor(args), Message("conv1d_weight has shape (78, 5), expected width 2 to 4"));
  for (const int64_t ngroups :
       {int64_t{0}, int64_t{4}, int64_t{-3}, std::numeric_limits<int64_t>::max()}) {
    args = ExampleSplit();
    args.ngroups = ngroups;
    EXPECT_EQ(MessageFor(args), Message("ngroups is " + std::to_string(ngroups) +
                                        ", expected a divisor of nheads 6 because A is (6)"));
  }
}

TEST(ValidateSplit, ComparesDTypes) {
  Args args = ExampleSplit(tilescan_bfloat16());
  args.conv1d_weight = Described(tilescan_float16(), {78, 4});
  args.final_states = Described(tilescan_float32(), {2, 6, 8, 5});
  EXPECT_EQ(MessageFor(args), "");
  args.out = Described(tilescan_float32(), {2, 12, 48});
  args.A = Described(tilescan_float64(), {6});
  args.seq_idx = Described(tilescan_int64(), {2, 12});
  EXPECT_EQ(MessageFor(args),
            Message("seq_idx has dtype int64, expected int32; A has dtype float64, expected "
                    "float32, bfloat16 or float16 because zxbcdt is bfloat16; out has dtype "
                    "float32, expected bfloat16 because zxbcdt is bfloat16"));
  EXPECT_EQ(MessageFor(ExampleSplit(tilescan_float64())), "");
}

TEST(ValidateSplit, ComparesOptions) {
  Args args = ExampleSplit();
  args.group_size = 5;
  args.rmsnorm_eps = -1.0f;
  args.norm_before_gate = 2;
  args.activation = 7;
  args.dt_softplus = -1;
  args.dt_limit[0] = 1.0f;
  args.dt_limit[1] = 0.5f;
  EXPECT_EQ(
      MessageFor(args),
      Message(std::string("group_size is 5, expected a divisor of dim 48 because ") + kSizesReason +
              "; rmsnorm_eps is -1, expected a finite number, 0 or more; norm_before_gate is "
              "2, expected 0 or 1; activation is 7, expected TILESCAN_ACTIVATION_NONE (0) or "
              "TILESCAN_ACTIVATION_SILU (1); dt_softplus is -1, expected 0 or 1; dt_limit is "
              "(1, 0.5), expected two numbers, the smaller first"));
  args = ExampleSplit();
  args.group_size = -1;
  EXPECT_EQ(MessageFor(args), Message("group_size is -1, expected 0 (dim / ngroups) or more"));
}

TEST(ValidateSplit, RefusesOutputsThatOverlapThemselves) {
  Args args = ExampleSplit();
  args.out.strides[1] = 0;
  EXPECT_EQ(MessageFor(args),
            Message("out has shape (2, 12, 48) and strides (576, 0, 1), expected strides that give "
                    "each element of an output its own place"));
}

TEST(ValidateSplit, RefusesMoreStatesThanCanBeCounted) {
  const auto message = [](int64_t dstate) {
    constexpr int64_t kDim = int64_t{1} << 23;
    const int64_t conv_dim = kDim + 2 * dstate;
    Args args = DefaultSplitConv1dScanForwardArgs();
    args.zxbcdt = Described(tilescan_float32(), {1, 0, kDim + conv_dim + 1});
    args.conv1d_weight = Described(tilescan_float32(), {conv_dim, 4});
    args.A = Described(tilescan_float32(), {1});
    args.out = Described(tilescan_float32(), {1, 0, kDim});
    return MessageFor(args);
  };
  EXPECT_EQ(message(int64_t{1} << 23), "");
  EXPECT_EQ(
      message(int64_t{1} << 24),
      Message("the states of batch 1, nheads 1, headdim 8388608 and dstate 16777216 have more "
              "than 2^46 elements"));
}

}  // namespace
}  // namespace tilescan::plan
