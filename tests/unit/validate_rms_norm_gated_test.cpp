// What planning says of wrong norms, and what it makes of right ones.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

TEST(ValidateNorm, AcceptsXWithAndWithoutTokens) {
  Violations violations("operation");
  tilescan_rms_norm_gated_forward_args args = ExampleNorm();
  const RmsNormGatedForwardProblem problem = Validate(args, &violations).problem;
  EXPECT_EQ(problem.sizes.seqlen, 12);
  EXPECT_EQ(problem.sizes.group_size, 3);
  args.x = args.z = args.out = Described(tilescan_float32(), {2, 6});
  args.group_size = 0;
  const RmsNormGatedForwardProblem rows = Validate(args, &violations).problem;
  EXPECT_EQ(violations.ToStatus().message(), "");
  EXPECT_EQ(rows.sizes.seqlen, 1);
  EXPECT_EQ(rows.sizes.group_size, 6);
  EXPECT_EQ(rows.operands.z.ndim, 3);
}

TEST(ValidateNorm, ComparesShapes) {
  tilescan_rms_norm_gated_forward_args args = ExampleNorm();
  args.z = Described(tilescan_float32(), {2, 6});
  args.weight = Described(tilescan_float32(), {5});
  EXPECT_EQ(MessageFor(args),
            "rms_norm_gated_forward: weight has shape (5), expected (6) because x is (2, 12, 6); z "
            "has shape (2, 6), expected (2, 12, 6)");
}

TEST(ValidateNorm, ComparesOptions) {
  tilescan_rms_norm_gated_forward_args args = ExampleNorm();
  args.group_size = 4;
  args.eps = -1.0f;
  args.norm_before_gate = 2;
  EXPECT_EQ(MessageFor(args),
            "rms_norm_gated_forward: group_size is 4, expected a divisor of dim 6 because x is "
            "(2, 12, 6); eps is -1, expected a finite number, 0 or more; norm_before_gate is 2, "
            "expected 0 or 1");
  args = ExampleNorm();
  args.group_size = -3;
  args.eps = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(MessageFor(args),
            "rms_norm_gated_forward: group_size is -3, expected 0 (dim) or more; eps is nan, "
            "expected a finite number, 0 or more");
}

TEST(ValidateNorm, NamesWhatIsMissing) {
  EXPECT_EQ(MessageFor(DefaultRmsNormGatedForwardArgs()),
            "rms_norm_gated_forward: x is required, but absent; weight is required, but absent; "
            "out is required, but absent");
}

}  // namespace
}  // namespace tilescan::plan
