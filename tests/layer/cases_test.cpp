// Every named case of the operations around the scan, on every kernel and instruction set of this
// machine.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "testing/verify.h"

namespace tilescan::testing {
namespace {

using Parameter = std::tuple<std::string, Target>;

template <typename Case>
void AddParameters(const std::vector<Case>& cases, const std::string& operation,
                   std::vector<Parameter>* parameters) {
  for (const std::string& name : NamesOf(cases)) {
    for (const Target& target : AllTargets(operation)) parameters->emplace_back(name, target);
  }
}

std::vector<Parameter> AllParameters() {
  std::vector<Parameter> parameters;
  AddParameters(ConvCases(), ConvOperands::kOperation, &parameters);
  AddParameters(ConvUpdateCases(), ConvUpdateOperands::kOperation, &parameters);
  AddParameters(NormCases(), NormOperands::kOperation, &parameters);
  AddParameters(SplitCases(), SplitOperands::kOperation, &parameters);
  return parameters;
}

class LayerCaseOn : public ::testing::TestWithParam<Parameter> {};

TEST_P(LayerCaseOn, AgreesWithTheReference) {
  const auto& [case_name, target] = GetParam();
  for (const Layout layout : {Layout::kCompact, Layout::kExchanged}) {
    const CaseResult result = VerifyCase(case_name, target, layout);
    if (result.outcome == Outcome::kUnsupported) {
      if (!target.is_general) GTEST_SKIP() << result.message;
      // Only the reference takes float64.
      EXPECT_NE(target.backend, "reference") << result.message;
      EXPECT_NE(case_name.find("float64"), std::string::npos) << result.message;
      return;
    }
    EXPECT_EQ(result.outcome, Outcome::kPassed)
        << CaseAbout(case_name) << ", " << LayoutName(layout) << ": " << result.message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerCaseOn, ::testing::ValuesIn(AllParameters()), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
