// Which dtypes the scan's validation takes together, and every message about them.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

using Args = tilescan_scan_forward_args;

TEST(ValidateScanForward, AcceptsHalfPrecisionWithEveryOtherFloat) {
  for (const tilescan_dtype dtype : {tilescan_bfloat16(), tilescan_float16()}) {
    tilescan_scan_forward_args args = ExampleScanForward(dtype);
    args.B.dtype = args.C.dtype = tilescan_float32();
    args.dt.dtype = tilescan_float16();
    args.A.dtype = tilescan_bfloat16();
    args.initial_states = Described(tilescan_float16(), {2, 6, 8, 5});
    args.final_states = Described(tilescan_bfloat16(), {2, 6, 8, 5});
    EXPECT_EQ(MessageFor(args), "");
  }
}

TEST(ValidateScanForward, RefusesXThatIsNoFloat) {
  EXPECT_EQ(
      MessageFor(ExampleScanForward(tilescan_int32()))
          .find("scan_forward: x has dtype int32, expected float32, bfloat16, float16 or float64"),
      0u);
}

TEST(ValidateScanForward, TiesBToX) {
  tilescan_scan_forward_args args = ExampleScanForward(tilescan_bfloat16());
  args.B.dtype = args.C.dtype = tilescan_float16();
  EXPECT_EQ(MessageFor(args),
            "scan_forward: B has dtype float16, expected bfloat16 or float32 because x is "
            "bfloat16");
}

TEST(ValidateScanForward, TiesCToB) {
  tilescan_scan_forward_args args = ExampleScanForward(tilescan_bfloat16());
  args.B.dtype = tilescan_float32();
  EXPECT_EQ(MessageFor(args),
            "scan_forward: C has dtype bfloat16, expected float32 because B is float32");
}

TEST(ValidateScanForward, TiesZAndOutToX) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.z = Described(tilescan_bfloat16(), {2, 12, 6, 8});
  args.out.dtype = tilescan_float16();
  EXPECT_EQ(MessageFor(args),
            "scan_forward: z has dtype bfloat16, expected float32 because x is float32; out has "
            "dtype float16, expected float32 because x is float32");
}

TEST(ValidateScanForward, AcceptsFloat64) {
  tilescan_scan_forward_args args = ExampleScanForward(tilescan_float64());
  EXPECT_EQ(MessageFor(args), "");
  args.A.dtype = args.dt.dtype = tilescan_bfloat16();
  args.final_states = Described(tilescan_float64(), {2, 6, 8, 5});
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateScanForward, TiesBToAFloat64X) {
  tilescan_scan_forward_args args = ExampleScanForward(tilescan_float64());
  args.B.dtype = args.C.dtype = tilescan_float32();
  EXPECT_EQ(MessageFor(args),
            "scan_forward: B has dtype float32, expected float64 because x is float64");
}

class ScanForwardFloats
    : public testing::TestWithParam<std::pair<const char*, tilescan_tensor Args::*>> {};

TEST_P(ScanForwardFloats, AreNotFloat64BesideAFloat32X) {
  const auto& [name, operand] = GetParam();
  tilescan_scan_forward_args args = ExamplePacked();
  (args.*operand).dtype = tilescan_float64();
  EXPECT_EQ(MessageFor(args),
            std::string("scan_forward: ") + name +
                " has dtype float64, expected float32, bfloat16 or float16 because x is float32");
}

INSTANTIATE_TEST_SUITE_P(Operands, ScanForwardFloats,
                         testing::Values(std::pair{"dt", &Args::dt}, std::pair{"A", &Args::A},
                                         std::pair{"D", &Args::D},
                                         std::pair{"dt_bias", &Args::dt_bias},
                                         std::pair{"initial_states", &Args::initial_states},
                                         std::pair{"final_states", &Args::final_states},
                                         std::pair{"states_out", &Args::states_out}),
                         [](const auto& named) { return std::string(named.param.first); });

}  // namespace
}  // namespace tilescan::plan
