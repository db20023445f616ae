// What the recurrence implies whatever its inputs: splitting, linearity, scaling, padding.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "testing/truth.h"
#include "testing/verify.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

class ScanPropertyOn : public ::testing::TestWithParam<Target> {
 protected:
  static ScanCase PropertyCase(DType dtype, uint64_t seed) {
    ScanCase c = RandomScanCase("property", {2, 150, 4, 24, 2, 40}, seed);
    AddOptionalOperands(&c, seed);
    c.x_dtype = dtype;
    return c;
  }
};

// Tokens [0, split), then the rest from the state reached, is the whole: held to the limits that
// computing in float32 has, for the state in between is rounded to float32, the reference's too.
TEST_P(ScanPropertyOn, SplitAnywhere) {
  for (const DType dtype : DTypesOf(GetParam())) {
    for (const int64_t split : {0, 1, 47, 64, 75, 149, 150}) {
      const ScanOperands whole = BuildOperands(PropertyCase(dtype, 800));
      const int64_t seqlen = whole.x.shape()[1];
      const ScanOperands first = SelectTokens(whole, Range(0, split));
      ExpectRun(first, GetParam());
      ScanOperands second = SelectTokens(whole, Range(split, seqlen - split));
      second.initial_states = WithLayout(first.final_states, Layout::kCompact);
      ExpectRun(second, GetParam());

      ScanOperands solved = Copy(whole);
      for (int64_t idx = 0; idx < solved.out.num_elements(); ++idx) {
        const int64_t token_size = solved.out.num_elements() / (2 * seqlen);
        const int64_t row = idx / (seqlen * token_size);
        const int64_t in_row = idx % (seqlen * token_size);
        const bool is_first = in_row < split * token_size;
        const HostTensor& part = is_first ? first.out : second.out;
        const int64_t part_row_size = (is_first ? split : seqlen - split) * token_size;
        const int64_t part_idx = row * part_row_size + in_row - (is_first ? 0 : split * token_size);
        solved.out.SetBits(idx, part.Bits(part_idx));
      }
      solved.final_states.Assign(second.final_states);
      // The states between are kept in float32.
      Target judged_as = GetParam();
      if (!judged_as.IsOnDevice()) judged_as.backend = "cpu";
      EXPECT_EQ(Complaints(whole, solved, judged_as), "")
          << DTypeName(dtype) << " split at " << split;
    }
  }
}

// out and states are linear in x and the initial states. Factors that are powers of two change no
// rounding, so bits scale too.
TEST_P(ScanPropertyOn, ScalingByAPowerOfTwo) {
  for (const DType dtype : DTypesOf(GetParam())) {
    ScanCase c = PropertyCase(dtype, 801);
    // Multiples of 2^-9, so that no element is denormal in float16 and rounded differently there.
    c.x = Mapped(c.x, [](double value) { return std::rint(value * 512) / 512; });
    ScanCase scaled = c;
    scaled.x = Mapped(c.x, [](double value) { return 4.0 * value; });
    scaled.initial_states = Mapped(c.initial_states, [](double value) { return 4.0 * value; });
    const ScanOperands once = Solve(c, GetParam());
    const ScanOperands four_times = Solve(scaled, GetParam());
    for (const auto& [got, expected] :
         {std::pair(&four_times.out, &once.out), {&four_times.final_states, &once.final_states}}) {
      for (int64_t idx = 0; idx < got->num_elements(); ++idx) {
        // A result that was denormal is rounded differently when scaled.
        if (std::fabs(expected->Get(idx)) < SmallestNormal(expected->dtype())) continue;
        ASSERT_EQ(got->Get(idx), 4.0 * expected->Get(idx)) << DTypeName(dtype) << " at " << idx;
      }
    }
  }
}

// scan(x1 + 2 x2) = scan(x1) + 2 scan(x2), from values whose sums are exact in every dtype.
TEST_P(ScanPropertyOn, LinearInX) {
  for (const DType dtype : DTypesOf(GetParam())) {
    // Multiples of 1/64 in [-1, 1]: their weighted sum needs 8 significant bits at most.
    const auto coarse = [](uint64_t seed) {
      return Mapped(Uniform(seed, -64.0, 64.0), [](double value) { return std::rint(value) / 64; });
    };
    ScanCase first = PropertyCase(dtype, 802);
    first.initial_states = nullptr;
    first.x = coarse(81);
    ScanCase second = first;
    second.x = coarse(82);
    ScanCase sum = first;
    sum.x = [x1 = first.x, x2 = second.x](int64_t idx) { return x1(idx) + 2.0 * x2(idx); };

    const ScanOperands of_first = Solve(first, GetParam());
    const ScanOperands of_second = Solve(second, GetParam());
    const ScanOperands of_sum = Solve(sum, GetParam());
    const ScanOperands magnitudes_first = Magnitudes(of_first);
    const ScanOperands magnitudes_second = Magnitudes(of_second);
    // The runs of both sides may err by as much as a single run may, in opposite directions: one
    // rounding to the dtype and a few float32 operations, and where products are of bf16 two
    // roundings of factors.
    const double products = GetParam().is_general ? 0.0 : 2 * 0x1p-9;
    const double limit =
        2.0 * (UnitRoundoff(dtype) + products + 8.0 * UnitRoundoff(DType::kFloat32));
    for (int64_t idx = 0; idx < of_sum.out.num_elements(); ++idx) {
      const double combined = of_first.out.Get(idx) + 2.0 * of_second.out.Get(idx);
      const double magnitude = magnitudes_first.out.Get(idx) + 2.0 * magnitudes_second.out.Get(idx);
      ASSERT_LE(std::fabs(of_sum.out.Get(idx) - combined),
                limit * (magnitude + SmallestNormal(dtype)))
          << DTypeName(dtype) << " at " << IndexText(of_sum.out, idx);
    }
  }
}

// Heads of a group that are fed alike give alike.
TEST_P(ScanPropertyOn, EqualHeadsGiveEqualBits) {
  const ScanOperands unsolved = BuildOperands(PropertyCase(WidestDType(GetParam()), 803));
  const ScanOperands alike = SelectHeads(unsolved, {1, 1, 1, 1, 1, 1, 1}, {0});
  ExpectRun(alike, GetParam());
  const ScanOperands first_head = SelectHeads(alike, {0, 0, 0, 0, 0, 0, 0}, {0});
  ExpectSameBits(alike, first_head, "seven equal heads");
}

// Padding on either side of a row changes nothing but where its tokens stand: with padding on the
// right the bits are the same; on the left tokens stand elsewhere in their chunks.
TEST_P(ScanPropertyOn, PaddingIsTransparent) {
  constexpr int64_t kNumPadding = 21;
  for (const bool is_left : {false, true}) {
    const ScanCase plain = PropertyCase(WidestDType(GetParam()), 804);
    ScanCase padded = plain;
    padded.seqlen = plain.seqlen + kNumPadding;
    padded.seq_idx.assign(static_cast<size_t>(padded.batch * padded.seqlen), 0);
    const int64_t shift = is_left ? kNumPadding : 0;
    const auto moved = [&](const Fill& fill, int64_t token_size) -> Fill {
      return [=, seqlen = plain.seqlen](int64_t idx) {
        const int64_t row_size = (seqlen + kNumPadding) * token_size;
        const int64_t token = idx % row_size / token_size - shift;
        if (token < 0 || token >= seqlen) return static_cast<double>(NAN);
        return fill((idx / row_size * seqlen + token) * token_size + idx % token_size);
      };
    };
    padded.x = moved(plain.x, plain.nheads * plain.headdim);
    padded.z = moved(plain.z, plain.nheads * plain.headdim);
    padded.dt = moved(plain.dt, plain.nheads);
    padded.B = moved(plain.B, plain.ngroups * plain.dstate);
    padded.C = moved(plain.C, plain.ngroups * plain.dstate);
    for (int64_t row = 0; row < padded.batch; ++row) {
      const int64_t first = row * padded.seqlen + (is_left ? 0 : plain.seqlen);
      std::fill_n(padded.seq_idx.begin() + first, kNumPadding, -1);
    }
    const ScanOperands solved = Solve(padded, GetParam());
    ScanOperands cut = SelectTokens(solved, Range(shift, plain.seqlen));
    for (int64_t idx = 0; idx < solved.out.num_elements(); ++idx) {
      const int64_t token = idx / (plain.nheads * plain.headdim) % padded.seqlen - shift;
      if (token < 0 || token >= plain.seqlen) {
        ASSERT_EQ(solved.out.Bits(idx), 0u) << idx;
      }
    }
    if (is_left) {
      EXPECT_EQ(Complaints(BuildOperands(plain), cut, GetParam()), "");
    } else {
      ExpectSameBits(cut, Solve(plain, GetParam()), "padding on the right");
    }
  }
}

// final_states may be initial_states.
TEST_P(ScanPropertyOn, StatesInPlace) {
  for (const DType states_dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    ScanCase c = PropertyCase(WidestDType(GetParam()), 805);
    c.initial_states_dtype = c.final_states_dtype = states_dtype;
    const ScanOperands expected = Solve(c, GetParam());
    const ScanOperands operands = BuildOperands(c);
    tilescan_scan_forward_args args = MakeArgs(operands);
    args.final_states.data = args.initial_states.data;
    const RunResult result = RunArgs(args, GetParam().Options());
    EXPECT_TRUE(result.ok()) << result.message;
    EXPECT_TRUE(operands.initial_states.HasSameBits(expected.final_states));
    EXPECT_TRUE(operands.out.HasSameBits(expected.out));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScanPropertyOn,
                         ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")), NameOfTest());

// The stages are the recurrence solved over a chunk: equal in float64 but for its rounding.
TEST(ReferenceStages, AgreeWithTheRecurrenceToRounding) {
  Target stages;
  stages.backend = "reference";
  stages.kernel = "stages";
  for (const ScanCase& c : ScanCases()) {
    // The cases whose chunks sum exponents beyond the range that the stages state.
    if (c.name.find("minus_infinity") != std::string::npos) continue;
    const ScanOperands operands = InFloat64(BuildOperands(c));
    const ScanOperands truth = Truth(operands);
    const ScanOperands magnitudes = Magnitudes(operands);
    ExpectRun(operands, stages, c.chunk_size);
    for (const auto& [got, expected, magnitude] :
         {std::tuple(&operands.out, &truth.out, &magnitudes.out),
          {&operands.final_states, &truth.final_states, &magnitudes.final_states},
          {&operands.states_out, &truth.states_out, &magnitudes.states_out}}) {
      if (!got->present()) continue;
      const Comparison comparison = Compare(*got, *expected, *magnitude);
      EXPECT_EQ(comparison.num_mismatches, 0) << c.name;
      EXPECT_LE(comparison.max_scaled, 1e-12) << c.name;
    }
  }
}

}  // namespace
}  // namespace tilescan::testing
