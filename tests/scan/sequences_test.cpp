// Packed sequences and runs of seq_idx: as if each sequence were alone.
#include "core/sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/compare.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

// A problem with the given ids, for the cursor alone.
std::vector<TokenRun> RunsOf(const std::vector<int32_t>& ids) {
  ScanCase c = RandomScanCase("cursor", {1, static_cast<int64_t>(ids.size()), 1, 1, 1, 1}, 0);
  c.seq_idx = ids;
  const ScanOperands operands = BuildOperands(c, Layout::kReversed);
  const ScanForwardProblem problem = MakeProblem(operands);
  const ScanRow row = GetScanRow(problem, 0);
  RunCursor cursor(problem, row);
  std::vector<TokenRun> runs;
  for (TokenRun run; cursor.NextRun(&run);) runs.push_back(run);
  return runs;
}

std::string Text(const std::vector<TokenRun>& runs) {
  std::string text;
  for (const TokenRun& run : runs) {
    text += std::to_string(run.first_token) + "+" + std::to_string(run.num_tokens);
    text += run.is_padding ? "p " : run.starts_from_zero ? "z " : " ";
  }
  return text;
}

TEST(RunCursor, EachChangeOfIdBeginsASequenceFromZero) {
  EXPECT_EQ(Text(RunsOf({4, 4, 4})), "0+3 ");
  EXPECT_EQ(Text(RunsOf({4, 4, 2, 2, 2, 4})), "0+2 2+3z 5+1z ");
}

TEST(RunCursor, PaddingIsOneRunAndPassesTheStateOn) {
  EXPECT_EQ(Text(RunsOf({-1, -7, 3, 3})), "0+2p 2+2 ");
  EXPECT_EQ(Text(RunsOf({3, -1, 3, -1, 5, -2})), "0+1 1+1p 2+1 3+1p 4+1z 5+1p ");
  EXPECT_EQ(Text(RunsOf({-1, -1})), "0+2p ");
}

TEST(RunCursor, WithoutIdsARowIsOneRun) {
  const ScanCase c = RandomScanCase("cursor", {2, 9, 1, 1, 1, 1}, 0);
  const ScanOperands operands = BuildOperands(c);
  const ScanForwardProblem problem = MakeProblem(operands);
  ASSERT_EQ(NumScanRows(problem), 2);
  const ScanRow row = GetScanRow(problem, 1);
  EXPECT_EQ(row.batch_idx, 1);
  EXPECT_EQ(row.state_idx, 1);
  RunCursor cursor(problem, row);
  TokenRun run;
  ASSERT_TRUE(cursor.NextRun(&run));
  EXPECT_EQ(run.first_token, 0);
  EXPECT_EQ(run.num_tokens, 9);
  EXPECT_FALSE(cursor.NextRun(&run));
}

// Figures of the packed layout of states_out: the grid of sequence s begins at cu_seqlens[s] / k +
// s, so that the states after 128, 192 and 256 tokens of the three sequences lie at rows 1, 2 of
// the first, 5 of the second and so on.
TEST(ScanRows, PackedGridsOfStates) {
  ScanCase c = RandomScanCase("rows", {1, 630, 1, 1, 1, 1}, 0);
  c.cu_seqlens = {0, 130, 330, 630};
  c.states_every = 64;
  const ScanOperands operands = BuildOperands(c);
  const ScanForwardProblem problem = MakeProblem(operands);
  ASSERT_EQ(NumScanRows(problem), 3);
  const ScanRow second = GetScanRow(problem, 1);
  EXPECT_EQ(second.batch_idx, 0);
  EXPECT_EQ(second.state_idx, 1);
  EXPECT_EQ(second.first_token, 130);
  EXPECT_EQ(second.num_tokens, 200);
  EXPECT_EQ(second.first_state_out, 3);
  EXPECT_EQ(second.num_states_out, 3);
  EXPECT_EQ(StateOutIdxAfter(second, 130 + 63), 3);
  EXPECT_EQ(StateOutIdxAfter(second, 130 + 64), -1);
  EXPECT_EQ(StateOutIdxAfter(second, 130 + 191), 5);
  const ScanRow third = GetScanRow(problem, 2);
  EXPECT_EQ(third.first_state_out, 7);
  EXPECT_EQ(third.num_states_out, 4);
}

class SequencesOn : public ::testing::TestWithParam<Target> {
 protected:
  static constexpr int64_t kChunkSize = 64;

  static ScanCase PackedCase(DType dtype) {
    ScanCase c = RandomScanCase("packed", {1, 200, 4, 16, 2, 16}, 900);
    AddOptionalOperands(&c, 900);
    c.x_dtype = dtype;
    c.cu_seqlens = {0, 5, 5, 69, 70, 200};
    return c;
  }

  // Sequence seq of packed operands, as a call of its own.
  static ScanOperands Alone(const ScanOperands& packed, int64_t seq) {
    const auto first = static_cast<int64_t>(packed.cu_seqlens.Get(seq));
    const auto end = static_cast<int64_t>(packed.cu_seqlens.Get(seq + 1));
    ScanOperands alone = SelectRows(SelectTokens(packed, Range(first, end - first)), {0});
    alone.cu_seqlens = HostTensor();
    alone.initial_states = Select(packed.initial_states, 0, {seq});
    alone.final_states = Select(packed.final_states, 0, {seq});
    return alone;
  }
};

TEST_P(SequencesOn, PackedSequencesAreSeparateRuns) {
  for (const DType dtype : DTypesOf(GetParam())) {
    const ScanOperands unsolved = BuildOperands(PackedCase(dtype));
    const ScanOperands packed = Solve(PackedCase(dtype), GetParam(), kChunkSize);
    for (int64_t seq = 0; seq < 5; ++seq) {
      const ScanOperands alone = Alone(unsolved, seq);
      ExpectRun(alone, GetParam(), kChunkSize);
      ExpectSameBits(alone, Alone(packed, seq), "sequence " + std::to_string(seq));
    }
  }
}

TEST_P(SequencesOn, NanInOneSequenceStaysThere) {
  ScanCase c = PackedCase(WidestDType(GetParam()));
  const ScanOperands expected = Solve(c, GetParam(), kChunkSize);
  const auto with_nan = [](const Fill& fill, int64_t token_size) -> Fill {
    return [=](int64_t idx) {
      const int64_t token = idx / token_size;
      return token >= 5 && token < 69 ? std::numeric_limits<double>::quiet_NaN() : fill(idx);
    };
  };
  c.x = with_nan(c.x, 4 * 16);
  c.dt = with_nan(c.dt, 4);
  c.B = with_nan(c.B, 2 * 16);
  c.C = with_nan(c.C, 2 * 16);
  c.z = with_nan(c.z, 4 * 16);
  const ScanOperands solved = Solve(c, GetParam(), kChunkSize);
  for (const int64_t seq : {0, 1, 3, 4}) {
    ExpectSameBits(Alone(solved, seq), Alone(expected, seq), "sequence " + std::to_string(seq));
  }
  EXPECT_TRUE(std::isnan(solved.out.Get(5 * 4 * 16)));
}

// Whatever the initial state is, an empty sequence hands it on as it is: signalling NaN, negative
// zero, denormal.
TEST_P(SequencesOn, AnEmptySequenceKeepsTheBitsOfItsState) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    ScanCase c = PackedCase(WidestDType(GetParam()));
    c.initial_states_dtype = c.final_states_dtype = dtype;
    ScanOperands operands = BuildOperands(c);
    const int64_t state_size = 4 * 16 * 16;
    for (int64_t idx = 0; idx < state_size; ++idx) {
      operands.initial_states.SetBits(state_size + idx,
                                      0x7f810001u * static_cast<uint64_t>(idx + 1));
    }
    ExpectRun(operands, GetParam());
    EXPECT_TRUE(
        Select(operands.final_states, 0, {1}).HasSameBits(Select(operands.initial_states, 0, {1})))
        << DTypeName(dtype);
  }
}

TEST_P(SequencesOn, AnEmptySequenceWithoutInitialStateIsZero) {
  ScanCase c = PackedCase(WidestDType(GetParam()));
  c.initial_states = nullptr;
  const ScanOperands operands = Solve(c, GetParam());
  const HostTensor final_state = Select(operands.final_states, 0, {1});
  for (int64_t idx = 0; idx < final_state.num_elements(); ++idx) {
    ASSERT_EQ(final_state.Bits(idx), 0u);
  }
}

// The rows of states_out that belong to no sequence are left as they were.
TEST_P(SequencesOn, RowsOfNoSequenceAreNotWritten) {
  ScanCase c = PackedCase(WidestDType(GetParam()));
  c.states_every = 20;
  const ScanOperands operands = Solve(c, GetParam());
  // Sequence s has rows cu_seqlens[s] / 20 + s on: 0, 1, 2, 6, 7; it has 0, 0, 3, 0, 6 of them.
  const std::vector<int64_t> written = {2, 3, 4, 7, 8, 9, 10, 11, 12};
  ASSERT_EQ(operands.states_out.shape()[1], 15);
  const int64_t state_size = 4 * 16 * 16;
  for (int64_t row = 0; row < 15; ++row) {
    const bool is_written = std::find(written.begin(), written.end(), row) != written.end();
    for (int64_t idx = 0; idx < state_size; ++idx) {
      const uint64_t bits = operands.states_out.Bits(row * state_size + idx);
      ASSERT_EQ(bits == 0xffffffffu, !is_written) << "row " << row;
    }
  }
}

// Ids that change where the packed sequences do give the same, but for the initial states, which
// only the first sequence takes.
TEST_P(SequencesOn, IdsSeparateAsPackingDoes) {
  ScanCase packed = PackedCase(WidestDType(GetParam()));
  packed.initial_states = nullptr;
  ScanCase by_ids = packed;
  by_ids.cu_seqlens.clear();
  for (int32_t token = 0; token < 200; ++token) {
    by_ids.seq_idx.push_back(token < 5 ? 9 : token < 69 ? 2 : token < 70 ? 0 : 9);
  }
  const ScanOperands of_packed = Solve(packed, GetParam(), kChunkSize);
  const ScanOperands of_ids = Solve(by_ids, GetParam(), kChunkSize);
  const HostTensor no_magnitude;
  const Comparison comparison = Compare(of_ids.out, of_packed.out, no_magnitude);
  EXPECT_EQ(comparison.num_mismatches, 0);
  // Cuts fall elsewhere: rounding of float32 sums, as everywhere.
  EXPECT_LE(comparison.max_relative, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(All, SequencesOn, ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
