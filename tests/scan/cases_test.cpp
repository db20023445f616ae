// Every named case of the scan, on every kernel and instruction set of this machine.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "testing/verify.h"

namespace tilescan::testing {
namespace {

class ScanCaseOn : public ::testing::TestWithParam<std::tuple<std::string, Target>> {};

TEST_P(ScanCaseOn, AgreesWithTheRecurrence) {
  const auto& [case_name, target] = GetParam();
  const CaseResult result = VerifyCase(case_name, target);
  if (result.outcome == Outcome::kUnsupported) {
    if (!target.is_general) GTEST_SKIP() << result.message;
    // Only the reference takes float64.
    EXPECT_NE(target.backend, "reference") << result.message;
    EXPECT_NE(case_name.find("float64"), std::string::npos) << result.message;
    return;
  }
  EXPECT_EQ(result.outcome, Outcome::kPassed) << CaseAbout(case_name) << ": " << result.message;
}

INSTANTIATE_TEST_SUITE_P(All, ScanCaseOn,
                         ::testing::Combine(::testing::ValuesIn(NamesOf(ScanCases())),
                                            ::testing::ValuesIn(AllTargets("scan_forward"))),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
