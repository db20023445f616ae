// However operands lie in memory, the bits are those of compact operands.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kShifted,    Layout::kPitched,   Layout::kSpread,
                               Layout::kTransposed, Layout::kExchanged, Layout::kReversed};
constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// Sizes that are whole vectors, and odd ones.
std::vector<ConvCase> ConvLayoutCases() {
  std::vector<ConvCase> cases;
  for (const DType dtype : kDTypes) {
    for (const bool is_odd : {false, true}) {
      ConvCase c = RandomConvCase("layouts", 2, is_odd ? 45 : 64, is_odd ? 21 : 32, 6000);
      AddOptionalOperands(&c, 6000);
      c.x_dtype = c.initial_states_dtype = dtype;
      cases.push_back(c);
      c.seq_idx.assign(static_cast<size_t>(2 * c.seqlen), 3);
      for (size_t idx = 0; idx < c.seq_idx.size(); idx += 5) c.seq_idx[idx] = idx % 2 == 0 ? -1 : 4;
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<ConvUpdateCase> ConvUpdateLayoutCases() {
  std::vector<ConvUpdateCase> cases;
  for (const DType dtype : kDTypes) {
    for (const bool is_odd : {false, true}) {
      ConvUpdateCase c = RandomConvUpdateCase("layouts", 3, is_odd ? 2 : 0, is_odd ? 21 : 32, 6001);
      AddOptionalOperands(&c, 6001);
      c.state_len = is_odd ? 5 : 4;
      c.num_slots = 5;
      c.conv_state_indices = {4, 0, 3};
      c.conv_state_dtype = c.x_dtype = c.out_dtype = dtype;
      cases.push_back(c);
      c.cache_seqlens = {3, 14, 200};
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<NormCase> NormLayoutCases() {
  std::vector<NormCase> cases;
  for (const DType dtype : kDTypes) {
    for (const int64_t dim : {64, 63, 2304}) {
      NormCase c = RandomNormCase("layouts", 2, 3, dim, 6002);
      AddOptionalOperands(&c, 6002);
      c.group_size = dim % 3 == 0 ? dim / 3 : dim;
      c.x_dtype = c.z_dtype = c.out_dtype = dtype;
      cases.push_back(c);
      c.norm_before_gate = true;
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<SplitCase> SplitLayoutCases() {
  std::vector<SplitCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const CaseSizes sizes =
        dtype == DType::kFloat32 ? CaseSizes{2, 21, 4, 8, 2, 16} : CaseSizes{2, 18, 3, 5, 1, 7};
    SplitCase c = RandomSplitCase("layouts", sizes, 6003);
    AddOptionalOperands(&c, 6003);
    c.zxbcdt_dtype = c.initial_states_dtype = dtype;
    cases.push_back(c);
    c.rmsnorm_weight = {};
    cases.push_back(c);
  }
  return cases;
}

// Each layout for all operands, and for one operand at a time.
template <typename Case>
void CheckLayouts(const std::vector<Case>& cases, const Target& target) {
  for (const Case& c : cases) {
    const auto unsolved = BuildOperands(c);
    const auto expected = Solve(c, target);
    using Operands = decltype(BuildOperands(c));
    for (const Layout layout : kLayouts) {
      const auto operands = BuildOperands(c, layout);
      ExpectRun(operands, target);
      ExpectSameBits(operands, expected, LayoutName(layout));
    }
    Operands::ForEach(unsolved, [&](const char* different, const HostTensor& present, bool) {
      if (!present.present()) return;
      const auto operands =
          CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
            const bool is_different = std::string_view(name) == different;
            return WithLayout(tensor, is_different ? Layout::kSpread : Layout::kCompact);
          });
      ExpectRun(operands, target);
      ExpectSameBits(operands, expected, different);
    });
  }
}

// Offsets beyond 2^31 elements: one operand at a time, every dimension it has.
template <typename Case>
void CheckFar(const Case& c, const Target& target) {
  const auto unsolved = BuildOperands(c);
  const auto expected = Solve(c, target);
  using Operands = decltype(BuildOperands(c));
  Operands::ForEach(unsolved, [&](const char* far_name, const HostTensor& far, bool) {
    for (size_t dim = 0; far.present() && dim < far.shape().size(); ++dim) {
      const auto operands =
          CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
            if (std::string_view(name) != far_name) return WithLayout(tensor, Layout::kCompact);
            HostTensor copy = HostTensor::Far(tensor.dtype(), tensor.shape(), dim);
            copy.Assign(tensor);
            return copy;
          });
      ExpectRun(operands, target);
      ExpectSameBits(operands, expected, std::string(far_name) + " far in " + std::to_string(dim));
    }
  });
}

class ConvLayoutOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  CheckLayouts(ConvLayoutCases(), GetParam());
}

TEST_P(ConvLayoutOn, OffsetsBeyond32Bits) {
  ConvCase c = RandomConvCase("far", 2, 5, 3, 6010);
  AddOptionalOperands(&c, 6010);
  CheckFar(c, GetParam());
  c.seq_idx = {0, 0, -1, 0, 1, 2, 2, 2, 3, 3};
  CheckFar(c, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvLayoutOn,
                         ::testing::ValuesIn(AvailableTargets(ConvOperands::kOperation)),
                         NameOfTest());

class ConvUpdateLayoutOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvUpdateLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  CheckLayouts(ConvUpdateLayoutCases(), GetParam());
}

TEST_P(ConvUpdateLayoutOn, OffsetsBeyond32Bits) {
  ConvUpdateCase c = RandomConvUpdateCase("far", 2, 2, 3, 6011);
  AddOptionalOperands(&c, 6011);
  c.num_slots = 3;
  c.conv_state_indices = {2, 1};
  CheckFar(c, GetParam());
  c.cache_seqlens = {7, 2};
  CheckFar(c, GetParam());
  ConvUpdateCase one_token = RandomConvUpdateCase("far", 2, 0, 4, 6014);
  one_token.state_len = 4;
  CheckFar(one_token, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConvUpdateLayoutOn,
                         ::testing::ValuesIn(AvailableTargets(ConvUpdateOperands::kOperation)),
                         NameOfTest());

class NormLayoutOn : public ::testing::TestWithParam<Target> {};

TEST_P(NormLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  CheckLayouts(NormLayoutCases(), GetParam());
}

TEST_P(NormLayoutOn, OffsetsBeyond32Bits) {
  NormCase c = RandomNormCase("far", 2, 2, 4, 6012);
  AddOptionalOperands(&c, 6012);
  c.group_size = 2;
  CheckFar(c, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, NormLayoutOn,
                         ::testing::ValuesIn(AvailableTargets(NormOperands::kOperation)),
                         NameOfTest());

class SplitLayoutOn : public ::testing::TestWithParam<Target> {};

TEST_P(SplitLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  CheckLayouts(SplitLayoutCases(), GetParam());
}

TEST_P(SplitLayoutOn, OffsetsBeyond32Bits) {
  SplitCase c = RandomSplitCase("far", {2, 3, 2, 3, 1, 2}, 6013);
  AddOptionalOperands(&c, 6013);
  CheckFar(c, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SplitLayoutOn,
                         ::testing::ValuesIn(AvailableTargets(SplitOperands::kOperation)),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
