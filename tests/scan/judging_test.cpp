// The judge itself: a small fault in an output, of every kind, is found.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/compare.h"
#include "testing/truth.h"
#include "testing/verify.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

Target CpuTarget() {
  Target target;
  target.backend = "cpu";
  return target;
}

class Judging : public ::testing::Test {
 protected:
  Judging() {
    ScanCase c = RandomScanCase("judging", {2, 100, 2, 16, 1, 16}, 990);
    AddOptionalOperands(&c, 990);
    c.states_every = 25;
    // One head a millionth of the other: a fault in it drowns in figures over the whole tensor.
    c.x = [x = c.x](int64_t idx) { return idx / 16 % 2 == 0 ? x(idx) : 1e-6 * x(idx); };
    c.initial_states = Mapped(c.initial_states, [](double) { return 0.0; });
    before_ = BuildOperands(c);
    solved_ = HonestRun(before_);
  }

  std::string Verdict() const { return Complaints(before_, solved_, CpuTarget()); }

  ScanOperands before_;
  ScanOperands solved_;
};

TEST_F(Judging, AnHonestRunPasses) { EXPECT_EQ(Verdict(), ""); }

// Element 16 belongs to the small head, element 0 to the large one.
TEST_F(Judging, AWrongElementIsFound) {
  for (const int64_t idx : {0, 16, 1000}) {
    const ScanOperands kept = Copy(solved_);
    const double magnitude = Magnitudes(before_).out.Get(idx);
    solved_.out.Set(idx, solved_.out.Get(idx) + 1e-4 * magnitude);
    EXPECT_NE(Verdict().find("out has scaled error"), std::string::npos) << idx;
    solved_ = Copy(kept);
  }
}

TEST_F(Judging, AnElementThatWasNotWrittenIsFound) {
  solved_.out.SetBits(77, 0xffffffffu);
  EXPECT_NE(Verdict().find("out is wrongly finite or not in 1 elements"), std::string::npos);
}

TEST_F(Judging, ALostNanIsFound) {
  before_.x.Set(0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(Verdict().find("out is wrongly finite or not"), std::string::npos);
}

TEST_F(Judging, WrongStatesAreFound) {
  solved_.final_states.Set(3, solved_.final_states.Get(3) * 1.01 + 0.01);
  EXPECT_NE(Verdict().find("final_states has scaled error"), std::string::npos);
  solved_.states_out.Set(5, solved_.states_out.Get(5) * 1.01 + 0.01);
  EXPECT_NE(Verdict().find("states_out has scaled error"), std::string::npos);
}

// The reference is held to rounding once, closer than what computes in float32.
TEST_F(Judging, TheReferenceIsHeldToOneRounding) {
  Target reference;
  reference.backend = "reference";
  EXPECT_NE(Complaints(before_, solved_, reference), "");
}

TEST(Comparing, Figures) {
  HostTensor truth(DType::kFloat64, {4});
  truth.Assign(Repeat({3, -4, 0, 0}));
  HostTensor got(DType::kFloat32, {4});
  got.Assign(Repeat({3, -4, 0.5, 0}));
  HostTensor magnitude(DType::kFloat64, {4});
  magnitude.Assign(Constant(2));
  const Comparison comparison = Compare(got, truth, magnitude);
  EXPECT_EQ(comparison.num_compared, 4);
  EXPECT_EQ(comparison.num_mismatches, 0);
  EXPECT_DOUBLE_EQ(comparison.max_abs, 0.5);
  EXPECT_DOUBLE_EQ(comparison.max_relative, 0.5 / 4);
  EXPECT_DOUBLE_EQ(comparison.relative_l2, 0.5 / 5);
  EXPECT_DOUBLE_EQ(comparison.nmse, 0.01);
  EXPECT_DOUBLE_EQ(comparison.max_scaled, 0.25);
  EXPECT_EQ(comparison.worst_idx, 2);
  EXPECT_EQ(Compare(got, truth, magnitude, 3).max_abs, 0.0);
}

// A truth beyond the output's range is rightly infinite there.
TEST(Comparing, InfinityIsRightWhereTheDtypeEnds) {
  HostTensor truth(DType::kFloat64, {2});
  truth.Assign(Repeat({1e5, 1}));
  HostTensor got(DType::kFloat16, {2});
  got.Assign(truth);
  EXPECT_EQ(Compare(got, truth, HostTensor()).num_mismatches, 0);
  got.Set(0, 65504);
  EXPECT_EQ(Compare(got, truth, HostTensor()).num_mismatches, 1);
}

// Guards are seen to be broken.
TEST(HostTensors, AStrayStoreIsSeen) {
  for (const Layout layout : {Layout::kPitched, Layout::kSpread}) {
    const HostTensor tensor(DType::kFloat32, {2, 3}, layout);
    EXPECT_TRUE(tensor.SurroundingsIntact());
    // Between the rows, or the elements.
    const int64_t gap = layout == Layout::kPitched ? 4 : 1;
    *tensor.view().At<float>(gap) = 0.0f;
    EXPECT_FALSE(tensor.SurroundingsIntact()) << LayoutName(layout);
  }
}

}  // namespace
}  // namespace tilescan::testing
