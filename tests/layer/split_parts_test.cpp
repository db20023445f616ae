// A layer between its projections gives the bits of its parts, called one after another on copies
// of their operands: its views of zxbcdt and of its workspace read what they should.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "testing/case_list.h"
#include "testing/split_parts.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

// Those whose bits do not depend on how operands lie in memory.
class SplitPartsOn : public ::testing::TestWithParam<Target> {
 protected:
  // A part on the target's backend and instruction set, the scan on its kernel.
  template <typename Operands>
  static Operands Solved(Operands part, int64_t chunk_size) {
    Target target = GetParam();
    const bool is_scan = std::is_same_v<Operands, ScanOperands>;
    if (!is_scan) target.kernel.clear();
    ExpectRun(part, target, is_scan ? chunk_size : 0);
    return part;
  }
};

TEST_P(SplitPartsOn, GiveTheBitsOfTheWhole) {
  for (const SplitCase& c : SplitCases()) {
    const bool is_for_reference = c.zxbcdt_dtype == DType::kFloat64;
    if (is_for_reference && GetParam().backend != "reference") continue;
    SplitOperands expected = BuildOperands(c);
    SolveParts([&](auto part) { return Solved(std::move(part), c.chunk_size); }, &expected);
    ExpectSameBits(Solve(c, GetParam(), c.chunk_size), expected, c.name);
  }
}

TEST_P(SplitPartsOn, DescribeThemselvesInThePlan) {
  const Target target = GetParam();
  SplitCase c = SplitCases().front();
  AddOptionalOperands(&c, 6300);
  for (const bool has_norm : {true, false}) {
    if (!has_norm) c.rmsnorm_weight = {};
    const RunResult result = RunCall(BuildOperands(c), target.Options());
    ASSERT_EQ(result.status, TILESCAN_OK) << result.message;
    const auto plan = nlohmann::json::parse(result.plan);
    EXPECT_EQ(plan["operation"], "split_conv1d_scan_forward");
    EXPECT_EQ(plan["kernel"], target.kernel);
    ASSERT_EQ(plan["parts"].size(), has_norm ? 3u : 2u);
    EXPECT_EQ(plan["parts"][0]["operation"], "causal_conv1d_forward");
    EXPECT_EQ(plan["parts"][1]["operation"], "scan_forward");
    EXPECT_EQ(plan["parts"][1]["kernel"], target.kernel);
    std::string last_part;
    for (const auto& part : plan["parts"]) {
      EXPECT_EQ(part["backend"], target.backend);
      last_part = part["operation"];
      EXPECT_EQ(part["instruction_set"], target.instruction_set);
    }
    EXPECT_EQ(last_part, has_norm ? "rms_norm_gated_forward" : "scan_forward");
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitPartsOn,
                         ::testing::ValuesIn(AvailableTargets(SplitOperands::kOperation)),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
