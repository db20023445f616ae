// However operands lie in memory, the bits are those of compact operands.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kShifted, Layout::kPitched, Layout::kSpread,
                               Layout::kTransposed, Layout::kReversed};

StateUpdateCase CaseWith(const std::string& kind) {
  const bool is_odd = kind.find("odd") != std::string::npos;
  const CaseSizes sizes = is_odd ? CaseSizes{3, 2, 4, 13, 2, 19} : CaseSizes{3, 0, 4, 64, 2, 128};
  StateUpdateCase c = RandomStateUpdateCase(kind, sizes, is_odd ? 1600 : 1601);
  AddOptionalOperands(&c, 1600);
  c.is_D_per_channel = is_odd;
  c.num_slots = 5;
  c.state_batch_indices = {4, 0, 3};
  c.fresh = {0, 1, 0};
  if (is_odd) c.num_accepted = {1, 2, 0};
  if (kind.find("bfloat16") != std::string::npos) {
    c.state_dtype = c.x_dtype = c.B_dtype = c.C_dtype = c.z_dtype = c.out_dtype = DType::kBFloat16;
  }
  return c;
}

std::vector<std::string> Kinds() {
  return {"odd_float32", "even_float32", "odd_bfloat16", "even_bfloat16"};
}

class StateUpdateLayoutOn : public ::testing::TestWithParam<std::tuple<std::string, Target>> {};

TEST_P(StateUpdateLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  const auto& [kind, target] = GetParam();
  const StateUpdateCase c = CaseWith(kind);
  const StateUpdateOperands expected = Solve(c, target);
  for (const Layout layout : kLayouts) {
    const StateUpdateOperands operands = BuildOperands(c, layout);
    ExpectRun(operands, target);
    ExpectSameBits(operands, expected, LayoutName(layout));
  }
}

TEST_P(StateUpdateLayoutOn, OneOperandOfAnotherLayout) {
  const auto& [kind, target] = GetParam();
  const StateUpdateCase c = CaseWith(kind);
  const StateUpdateOperands unsolved = BuildOperands(c);
  const StateUpdateOperands expected = Solve(c, target);
  std::vector<std::string> names;
  StateUpdateOperands::ForEach(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
    if (tensor.present()) names.emplace_back(name);
  });
  for (const std::string& different : names) {
    const StateUpdateOperands operands =
        CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
          return WithLayout(tensor, name == different ? Layout::kSpread : Layout::kCompact);
        });
    ExpectRun(operands, target);
    ExpectSameBits(operands, expected, different);
  }
}

// A, dt, dt_bias and D as the public implementation passes them.
TEST_P(StateUpdateLayoutOn, ExpandedOperandsGiveTheSameBits) {
  const auto& [kind, target] = GetParam();
  StateUpdateCase c = CaseWith(kind);
  c.is_D_per_channel = false;
  const StateUpdateOperands expected = Solve(c, target);
  c.is_expanded = true;
  ExpectSameBits(Solve(c, target), expected, "expanded");
}

INSTANTIATE_TEST_SUITE_P(All, StateUpdateLayoutOn,
                         ::testing::Combine(::testing::ValuesIn(Kinds()),
                                            ::testing::ValuesIn(AvailableTargets("state_update"))),
                         NameOfTest());

// Offsets beyond 2^31 elements: one operand at a time, every dimension it has.
class FarStateUpdateOn : public ::testing::TestWithParam<Target> {};

TEST_P(FarStateUpdateOn, OffsetsBeyond32Bits) {
  StateUpdateCase c = RandomStateUpdateCase("far", {2, 3, 4, 3, 2, 2}, 1610);
  AddOptionalOperands(&c, 1610);
  c.is_D_per_channel = true;
  c.num_slots = 3;
  c.state_batch_indices = {2, 1};
  c.fresh = {0, 1};
  c.num_accepted = {2, 3};
  const StateUpdateOperands unsolved = BuildOperands(c);
  const StateUpdateOperands expected = Solve(c, GetParam());
  StateUpdateOperands::ForEach(unsolved, [&](const char* far_name, const HostTensor& far, bool) {
    for (size_t dim = 0; far.present() && dim < far.shape().size(); ++dim) {
      const StateUpdateOperands operands =
          CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
            if (std::string_view(name) != far_name) return WithLayout(tensor, Layout::kCompact);
            HostTensor copy = HostTensor::Far(tensor.dtype(), tensor.shape(), dim);
            copy.Assign(tensor);
            return copy;
          });
      ExpectRun(operands, GetParam());
      ExpectSameBits(operands, expected, std::string(far_name) + " far in " + std::to_string(dim));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, FarStateUpdateOn,
                         ::testing::ValuesIn(AvailableTargets("state_update")), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
