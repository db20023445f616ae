// Kernels that take only some problems: on every kind of problem that one of them may take. What a
// kernel refuses is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "testing/case_list.h"
#include "testing/run.h"
#include "testing/test_names.h"
#include "testing/verify.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr CaseSizes kSizes = {
    .batch = 2, .seqlen = 300, .nheads = 4, .headdim = 64, .ngroups = 2, .dstate = 128};

ScanCase SpecialCase(std::string name, const CaseSizes& sizes, uint64_t seed) {
  ScanCase c = RandomScanCase(std::move(name), sizes, seed);
  c.x_dtype = DType::kBFloat16;
  return c;
}

void AddDims(int64_t headdim, int64_t dstate, std::vector<ScanCase>* cases) {
  CaseSizes sizes = kSizes;
  sizes.headdim = headdim;
  sizes.dstate = dstate;
  // Heads of a group that do not fill the last of the rows that a block takes.
  sizes.nheads = 6;
  const std::string name = "dims_" + std::to_string(headdim) + "_" + std::to_string(dstate);
  cases->push_back(SpecialCase(name, sizes, 902));
  cases->push_back(SpecialCase(name + "_all", sizes, 902));
  AddOptionalOperands(&cases->back(), 902);
}

void AddSizes(std::vector<ScanCase>* cases) {
  for (const int64_t seqlen : {1, 2, 63, 64, 65, 128, 300, 1000}) {
    CaseSizes sizes = kSizes;
    sizes.seqlen = seqlen;
    cases->push_back(SpecialCase("seqlen_" + std::to_string(seqlen), sizes, 900));
    AddOptionalOperands(&cases->back(), 900);
  }
  for (const auto& [nheads, ngroups] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 2}, {3, 1}, {6, 2}, {16, 1}, {24, 8}}) {
    CaseSizes sizes = kSizes;
    sizes.nheads = nheads;
    sizes.ngroups = ngroups;
    cases->push_back(
        SpecialCase("heads_" + std::to_string(nheads) + "_" + std::to_string(ngroups), sizes, 901));
  }
  for (const auto& [headdim, dstate] :
       std::vector<std::pair<int64_t, int64_t>>{{64, 16}, {8, 8}, {72, 128}, {64, 96}}) {
    AddDims(headdim, dstate, cases);
  }
  for (const int64_t headdim : {32, 48, 64, 80, 96, 112, 128, 192}) {
    for (const int64_t dstate : {64, 128, 256}) AddDims(headdim, dstate, cases);
  }
}

void AddOperands(std::vector<ScanCase>* cases) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    ScanCase c = SpecialCase(std::string("states_") + DTypeName(dtype), kSizes, 903);
    AddOptionalOperands(&c, 903);
    c.initial_states_dtype = c.final_states_dtype = c.dt_dtype = c.weight_dtype = dtype;
    cases->push_back(c);
  }
  ScanCase per_channel = SpecialCase("D_per_channel", kSizes, 904);
  AddOptionalOperands(&per_channel, 904);
  per_channel.is_D_per_channel = true;
  cases->push_back(per_channel);
  ScanCase plain = SpecialCase("out_only", kSizes, 905);
  plain.has_final_states = false;
  cases->push_back(plain);
  ScanCase limited = SpecialCase("limits", kSizes, 906);
  limited.dt_limit[0] = 0.01f;
  limited.dt_limit[1] = 0.05f;
  cases->push_back(limited);
  ScanCase states_out = SpecialCase("states_out", kSizes, 907);
  states_out.states_every = 128;
  cases->push_back(states_out);
}

// A few heads and many tokens: rows are cut into pieces.
void AddLongRows(std::vector<ScanCase>* cases) {
  for (const int64_t seqlen : {4133, 20000}) {
    CaseSizes sizes = kSizes;
    sizes.batch = 1;
    sizes.seqlen = seqlen;
    sizes.nheads = 2;
    sizes.ngroups = 1;
    cases->push_back(SpecialCase("long_" + std::to_string(seqlen), sizes, 908));
    AddOptionalOperands(&cases->back(), 908);
  }

  CaseSizes sizes = kSizes;
  sizes.seqlen = 4500;
  sizes.nheads = 2;
  sizes.ngroups = 1;
  // Every third chunk: not where pieces end.
  ScanCase states_out = SpecialCase("long_states_out", sizes, 912);
  AddOptionalOperands(&states_out, 912);
  states_out.states_every = 192;
  cases->push_back(states_out);

  // In pieces before the last; one row, and one head of the other, know nothing of it.
  ScanCase nonfinite = SpecialCase("long_nonfinite", sizes, 913);
  AddOptionalOperands(&nonfinite, 913);
  const int64_t row = sizes.nheads * sizes.headdim;
  const int64_t second_row = sizes.seqlen * row;
  const Fill finite = nonfinite.x;
  nonfinite.x = [finite, row, second_row](int64_t idx) {
    if (idx == second_row + 1500 * row + 3) return std::numeric_limits<double>::quiet_NaN();
    if (idx == second_row + 3333 * row + 5) return std::numeric_limits<double>::infinity();
    return finite(idx);
  };
  cases->push_back(nonfinite);
}

// States that grow by more than fp32 holds over a part of a row, but are 0 there.
void AddGrowthFromZero(std::vector<ScanCase>* cases) {
  CaseSizes sizes = kSizes;
  sizes.batch = 1;
  sizes.seqlen = 20000;
  sizes.nheads = 2;
  sizes.ngroups = 1;
  ScanCase c = SpecialCase("growth_from_zero", sizes, 910);
  c.dt_bias = {};
  c.dt_softplus = false;
  c.dt = Constant(1.2);
  c.A = Constant(1);
  const int64_t first = (sizes.seqlen - 40) * sizes.nheads * sizes.headdim;
  const Fill x = c.x;
  c.x = [x, first](int64_t idx) { return idx < first ? 0.0 : x(idx); };
  cases->push_back(c);
}

// Heads of other sizes than the kernels' rows: heads of very different decay, and one with x that
// is not finite, side by side in the rows that are computed together; rows cut in halves and in
// pieces.
void AddOtherHeads(std::vector<ScanCase>* cases) {
  for (const auto& [headdim, dstate] : std::vector<std::pair<int64_t, int64_t>>{
           {80, 128}, {32, 64}, {48, 256}, {128, 128}, {128, 256}}) {
    CaseSizes sizes = kSizes;
    sizes.headdim = headdim;
    sizes.dstate = dstate;
    sizes.nheads = 10;
    const std::string dims = std::to_string(headdim) + "_" + std::to_string(dstate);
    const auto add = [&](const char* name, const Fill& dt, const Fill& A) -> ScanCase& {
      cases->push_back(SpecialCase(name + dims, sizes, 911));
      ScanCase& c = cases->back();
      AddOptionalOperands(&c, 911);
      c.dt_bias = {};
      c.dt_softplus = false;
      c.is_D_per_channel = true;
      c.dt = dt;
      c.A = A;
      return c;
    };
    add("sides_split_", Uniform(44, 0.1, 0.2), Repeat({-16, -0.1, -1}));
    add("sides_exact_", Octaves(45, -10, -5), Repeat({3, -0.5, -40}));
    add("sides_strong_", Uniform(46, 0, 5), Repeat({-16, -1e-3, -4, -0.1}));
    const int64_t row = sizes.nheads * headdim;
    ScanCase& nonfinite = add("sides_nonfinite_", Uniform(47, 0, 0.3), Repeat({-1, -8, -16}));
    const Fill finite = nonfinite.x;
    nonfinite.x = [finite, row, headdim](int64_t idx) {
      // One channel of the second head, at two tokens.
      if (idx == 70 * row + headdim + 3) return std::numeric_limits<double>::quiet_NaN();
      if (idx == 131 * row + headdim + 5) return std::numeric_limits<double>::infinity();
      return finite(idx);
    };
    sizes.batch = 1;
    sizes.ngroups = 1;
    sizes.nheads = 3;
    sizes.seqlen = 4133;
    add("sides_long_", Octaves(48, -10, -3), Repeat({-1, -16, -0.1}));
    // More tasks than multiprocessors, by less than half as many.
    sizes.batch = 1;
    sizes.seqlen = 200;
    sizes.nheads = (160 * 128 + headdim - 1) / headdim;
    add("sides_halves_", Octaves(49, -10, -3), Repeat({-1, -16, -0.1}));
  }
}

void AddDecays(std::vector<ScanCase>* cases) {
  const auto add = [cases](const char* name, const Fill& dt, const Fill& A) {
    cases->push_back(SpecialCase(name, kSizes, 909));
    AddOptionalOperands(&cases->back(), 909);
    ScanCase& c = cases->back();
    c.dt_bias = {};
    c.dt_softplus = false;
    c.dt = dt;
    c.A = A;
  };
  add("decay_none", Octaves(31, -10, -3), Constant(0));
  add("decay_weak", Octaves(32, -20, -13), Uniform(33, -1, -0.01));
  add("decay_strong", Uniform(34, 0, 5), Uniform(35, -16, -1));
  add("decay_total", Uniform(36, 1, 100), Uniform(37, -1e6, -1e3));
  add("decay_middling", Uniform(38, 0, 0.3), Uniform(39, -16, -8));
  const Fill sometimes = [](int64_t idx) {
    return RandomUnit(40, static_cast<uint64_t>(idx)) < 0.1 ? 20 : 1e-3;
  };
  add("decay_mixed", sometimes, Repeat({-1, -4, -0.1, -16}));
  add("decay_positive", Octaves(41, -10, -6), Uniform(42, 0.5, 8));
  add("decay_both_signs", Octaves(43, -10, -5), Repeat({-40, 3, -0.5, 10}));
  const Fill step = [](int64_t idx) { return idx / 4 % 64 == 40 ? 40.0 : 1e-3; };
  add("decay_one_step", step, Constant(-4));
  add("decay_zero_steps", Constant(0), Constant(-4));
}

const std::vector<ScanCase>& SpecialCases() {
  static const std::vector<ScanCase> cases = [] {
    std::vector<ScanCase> made;
    AddSizes(&made);
    AddOperands(&made);
    AddLongRows(&made);
    AddGrowthFromZero(&made);
    AddDecays(&made);
    AddOtherHeads(&made);
    return made;
  }();
  return cases;
}

std::vector<Target> SpecialTargets() {
  std::vector<Target> targets = AllTargets("scan_forward");
  std::erase_if(targets, [](const Target& target) { return target.is_general; });
  return targets;
}

std::vector<std::string> NamesOfCases() {
  std::vector<std::string> names;
  for (const ScanCase& c : SpecialCases()) names.push_back(c.name);
  return names;
}

const ScanCase& CaseNamed(const std::string& name) {
  const auto found = std::find_if(SpecialCases().begin(), SpecialCases().end(),
                                  [&](const ScanCase& c) { return c.name == name; });
  if (found == SpecialCases().end()) throw std::out_of_range("no case is named " + name);
  return *found;
}

// A matrix unit in software is hundreds of times slower than one. What it leaves out are sizes that
// are there for the GPU's cuts; longer rows than a block of chunks are among the rest.
bool IsEmulated(const Target& target) {
  return target.kernel.find("emulated") != std::string::npos;
}
bool IsSmall(const ScanCase& c) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int64_t kMostWork = 10'000'000;  // a second
#else
  constexpr int64_t kMostWork = 20'000'000;
#endif
  return c.batch * c.seqlen * c.nheads * c.headdim * c.dstate < kMostWork;
}

class SpecialKernelOn : public ::testing::TestWithParam<std::tuple<std::string, Target>> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpecialKernelOn);

TEST_P(SpecialKernelOn, IsRightAndRepeatsItself) {
  const auto& [name, target] = GetParam();
  const ScanCase& c = CaseNamed(name);
  if (IsEmulated(target) && !IsSmall(c)) GTEST_SKIP() << "too long for a matrix unit in software";
  const ScanOperands before = BuildOperands(c);
  const ScanOperands solved = BuildOperands(c);
  const RunResult result = RunCall(solved, target.Options());
  if (result.status == TILESCAN_UNSUPPORTED) GTEST_SKIP() << result.message;
  ASSERT_EQ(result.status, TILESCAN_OK) << result.message;
  EXPECT_TRUE(result.surroundings_intact) << "wrote outside its outputs or workspace";
  EXPECT_EQ(Complaints(before, solved, target), "");
  for (int repeat = 0; repeat < 2; ++repeat) {
    ExpectSameBits(Solve(c, target), solved, "another run");
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpecialKernelOn,
                         ::testing::Combine(::testing::ValuesIn(NamesOfCases()),
                                            ::testing::ValuesIn(SpecialTargets())),
                         NameOfTest());

// As a model's projection holds them: z, x, B and C beside each other in each row.
class SpecialKernelSlicesOn : public ::testing::TestWithParam<Target> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpecialKernelSlicesOn);

TEST_P(SpecialKernelSlicesOn, SlicesOfOneBuffer) {
  ScanCase c = SpecialCase("slices", {2, 200, 4, 64, 2, 128}, 910);
  AddOptionalOperands(&c, 910);
  const ScanOperands expected = BuildOperands(c);
  const RunResult compact = RunCall(expected, GetParam().Options());
  if (compact.status == TILESCAN_UNSUPPORTED) GTEST_SKIP() << compact.message;
  const ScanOperands operands = BuildOperands(c);
  tilescan_scan_forward_args args = MakeArgs(operands);
  const int64_t num_tokens = c.batch * c.seqlen;
  const int64_t pitch = 2 * c.nheads * c.headdim + 2 * c.ngroups * c.dstate + 8;
  HostTensor buffer(DType::kBFloat16, {num_tokens, pitch});
  int64_t column = 8;
  for (const auto& [source, described] :
       std::vector<std::pair<const HostTensor*, tilescan_tensor*>>{{&operands.z, &args.z},
                                                                   {&operands.x, &args.x},
                                                                   {&operands.B, &args.B},
                                                                   {&operands.C, &args.C}}) {
    const int64_t width = source->num_elements() / num_tokens;
    for (int64_t idx = 0; idx < source->num_elements(); ++idx) {
      buffer.SetBits(idx / width * pitch + column + idx % width, source->Bits(idx));
    }
    described->data = buffer.view().AtBytes(column);
    described->strides[0] = c.seqlen * pitch;
    described->strides[1] = pitch;
    column += width;
  }
  const RunResult result = RunArgs(args, GetParam().Options());
  ASSERT_TRUE(result.ok()) << result.message;
  ExpectSameBits(operands, expected, "slices");
}

// final_states may be initial_states, also where x is not finite and in rows that are cut in
// pieces.
TEST_P(SpecialKernelSlicesOn, FinalStatesOverInitialStates) {
  int num_taken = 0;
  for (const char* name :
       {"seqlen_300", "long_4133", "sides_nonfinite_80_128", "dims_64_256_all"}) {
    ScanCase c = CaseNamed(name);
    if (!c.initial_states) AddOptionalOperands(&c, 911);
    c.initial_states_dtype = c.final_states_dtype = DType::kFloat32;
    const ScanOperands expected = BuildOperands(c);
    const RunResult apart = RunCall(expected, GetParam().Options());
    if (apart.status == TILESCAN_UNSUPPORTED) continue;
    ++num_taken;
    const ScanOperands operands = BuildOperands(c);
    tilescan_scan_forward_args args = MakeArgs(operands);
    args.final_states.data = args.initial_states.data;
    const RunResult result = RunArgs(args, GetParam().Options());
    EXPECT_TRUE(result.ok()) << name << ": " << result.message;
    EXPECT_TRUE(operands.initial_states.HasSameBits(expected.final_states)) << name;
    EXPECT_TRUE(operands.out.HasSameBits(expected.out)) << name;
  }
  if (num_taken == 0) GTEST_SKIP() << "takes none of the cases";
}

INSTANTIATE_TEST_SUITE_P(All, SpecialKernelSlicesOn, ::testing::ValuesIn(SpecialTargets()),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
