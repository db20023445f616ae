// A layer between its projections: sizes, dtypes, sequences, norms, and digits of the formulas.
#include <string>
#include <utility>
#include <vector>

#include "testing/case_list.h"
#include "testing/layer_cases.h"

namespace tilescan::testing {
namespace {

enum class Stream : uint64_t {
  kZxbcdt,
  kConvWeight,
  kA,
  kConvBias,
  kDtBias,
  kD,
  kNormWeight,
  kConvStates,
  kStates,
  kNumStreams
};
uint64_t SeedOf(uint64_t seed, Stream stream) {
  return seed * static_cast<uint64_t>(Stream::kNumStreams) + static_cast<uint64_t>(stream);
}

void AddSplitShapes(std::vector<SplitCase>* cases) {
  constexpr CaseSizes kSizes[] = {
      {0, 5, 2, 4, 1, 4},  {2, 0, 2, 4, 1, 4},   {1, 1, 1, 1, 1, 1},     {2, 3, 2, 5, 1, 3},
      {1, 2, 3, 1, 3, 17}, {2, 33, 4, 8, 2, 16}, {1, 130, 6, 32, 3, 24}, {2, 70, 4, 64, 1, 128},
  };
  uint64_t seed = 7000;
  for (const CaseSizes& sizes : kSizes) {
    for (const DType dtype : kFloatDTypes) {
      ++seed;
      SplitCase c =
          RandomSplitCase("split/shapes/" + SizesName(sizes) + "/" + DTypeName(dtype), sizes, seed);
      c.about = "sizes";
      c.zxbcdt_dtype = dtype;
      if (seed % 3 != 0) AddOptionalOperands(&c, seed);
      if (seed % 4 == 0) c.rmsnorm_weight = {};
      cases->push_back(std::move(c));
    }
  }
}

SplitCase SmallSplit(std::string name, std::string about, uint64_t seed) {
  SplitCase c = RandomSplitCase("split/" + std::move(name), {2, 37, 4, 8, 2, 12}, seed);
  AddOptionalOperands(&c, seed);
  c.about = std::move(about);
  return c;
}

void AddSplitOperands(std::vector<SplitCase>* cases) {
  SplitCase gated = SmallSplit("no_norm", "z gates the scan", 7100);
  gated.rmsnorm_weight = {};
  cases->push_back(gated);
  SplitCase plain = SmallSplit("no_options", "required operands alone", 7101);
  plain.conv1d_bias = plain.dt_bias = plain.D = plain.rmsnorm_weight = {};
  plain.conv_initial_states = plain.initial_states = {};
  plain.has_silu = plain.dt_softplus = plain.has_final_states = false;
  cases->push_back(plain);
  SplitCase before = SmallSplit("norm_before_gate", "the gate behind the norm", 7102);
  before.norm_before_gate = true;
  before.is_D_per_channel = true;
  cases->push_back(before);
  SplitCase one_group = SmallSplit("one_group", "a norm over all channels", 7103);
  one_group.group_size = 32;
  one_group.eps = 0.125f;
  cases->push_back(one_group);
  SplitCase narrow = SmallSplit("narrow", "width, limits of the step, a chunk size", 7104);
  narrow.width = 2;
  narrow.group_size = 4;
  narrow.dt_limit[0] = 0.02f;
  narrow.dt_limit[1] = 0.0625f;
  narrow.chunk_size = 16;
  cases->push_back(narrow);
  uint64_t seed = 7110;
  for (const DType zxbcdt : kFloatDTypes) {
    for (const DType weight : kFloatDTypes) {
      ++seed;
      SplitCase c = SmallSplit(std::string("dtypes/") + DTypeName(zxbcdt) + "_" + DTypeName(weight),
                               "every operand its own dtype", seed);
      c.zxbcdt_dtype = zxbcdt;
      c.weight_dtype = weight;
      c.initial_states_dtype = kFloatDTypes[seed % 3];
      c.final_states_dtype = kFloatDTypes[(seed + 1) % 3];
      cases->push_back(std::move(c));
    }
  }
}

void AddSplitSequences(std::vector<SplitCase>* cases) {
  const std::pair<const char*, std::vector<int32_t>> kIds[] = {
      {"changes", {0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 0, 0}},
      {"padding", {-1, 0, 0, -1, -3, 0, 0, 1, -1, 1, 1, -1}},
  };
  const std::pair<const char*, std::vector<int64_t>> kPacked[] = {
      {"short", {0, 1, 1, 3, 6, 6, 10, 11, 12}},
      {"long", {0, 3, 3, 115, 116, 200}},
  };
  uint64_t seed = 7200;
  for (const DType dtype : kFloatDTypes) {
    for (const auto& [name, ids] : kIds) {
      ++seed;
      SplitCase c = RandomSplitCase(std::string("split/seq_idx/") + name + "/" + DTypeName(dtype),
                                    {2, 12, 4, 8, 2, 12}, seed);
      AddOptionalOperands(&c, seed);
      c.about = "sequences by id";
      c.zxbcdt_dtype = dtype;
      c.seq_idx = ids;
      c.seq_idx.insert(c.seq_idx.end(), ids.rbegin(), ids.rend());
      cases->push_back(std::move(c));
    }
    for (const auto& [name, cu_seqlens] : kPacked) {
      ++seed;
      SplitCase c = RandomSplitCase(std::string("split/packed/") + name + "/" + DTypeName(dtype),
                                    {1, cu_seqlens.back(), 4, 8, 2, 12}, seed);
      AddOptionalOperands(&c, seed);
      c.about = "packed sequences with states of their own";
      c.zxbcdt_dtype = dtype;
      c.cu_seqlens = cu_seqlens;
      if (dtype != DType::kFloat32) c.cu_seqlens_dtype = DType::kInt64;
      cases->push_back(std::move(c));
    }
  }
}

// Digits of the formulas of mamba_split_conv1d_scan_ref, in NumPy and float64.
void AddSplitDigits(std::vector<SplitCase>* cases) {
  SplitCase c;
  c.name = "split/digits/norm/float64";
  c.about = "digits of mamba_split_conv1d_scan_ref";
  c.batch = 2;
  c.seqlen = 7;
  c.nheads = 4;
  c.headdim = 3;
  c.ngroups = 2;
  c.dstate = 5;
  c.zxbcdt_dtype = c.weight_dtype = DType::kFloat64;
  c.initial_states_dtype = c.final_states_dtype = DType::kFloat64;
  c.zxbcdt = Sine(1);
  c.conv1d_weight = Sine(2);
  c.A = Sine(3);
  c.conv1d_bias = Sine(4);
  c.dt_bias = Sine(5);
  c.D = Sine(6);
  c.rmsnorm_weight = Sine(7);
  c.conv_initial_states = Sine(8);
  c.initial_states = Sine(9);
  c.is_D_per_channel = true;
  c.has_silu = c.dt_softplus = true;
  c.eps = 0x1p-10f;  // the same in fp32 and float64
  c.expected = {{"out", 0, -0.861216184617, kDigits},
                {"out", 17, -0.190837961433, kDigits},
                {"out", 100, -0.548983710335, kDigits},
                {"out", 167, -0.620580523218, kDigits},
                {"conv_final_states", 0, -0.613522331299, kDigits},
                {"conv_final_states", 50, -0.446965604320, kDigits},
                {"conv_final_states", 191, -0.995166370604, kDigits},
                {"final_states", 0, 0.432459689258, kDigits},
                {"final_states", 61, -0.879003757300, kDigits},
                {"final_states", 119, -0.100130782237, kDigits}};
  cases->push_back(c);
  c.name = "split/digits/gate/float64";
  c.rmsnorm_weight = {};
  c.expected = {{"out", 0, -1.400178574529, kDigits},
                {"out", 17, 0.049711429163, kDigits},
                {"out", 100, 0.488543695727, kDigits},
                {"out", 167, -0.047958385434, kDigits}};
  cases->push_back(c);
}

}  // namespace

SplitCase RandomSplitCase(std::string name, const CaseSizes& sizes, uint64_t seed) {
  SplitCase c;
  c.name = std::move(name);
  c.batch = sizes.batch;
  c.seqlen = sizes.seqlen;
  c.nheads = sizes.nheads;
  c.headdim = sizes.headdim;
  c.ngroups = sizes.ngroups;
  c.dstate = sizes.dstate;
  c.zxbcdt = Uniform(SeedOf(seed, Stream::kZxbcdt), -2.0, 2.0);
  c.conv1d_weight = Uniform(SeedOf(seed, Stream::kConvWeight), -1.0, 1.0);
  c.A = Uniform(SeedOf(seed, Stream::kA), -4.0, -0.5);
  return c;
}

void AddOptionalOperands(SplitCase* split_case, uint64_t seed) {
  SplitCase& c = *split_case;
  c.has_silu = c.dt_softplus = true;
  c.conv1d_bias = Uniform(SeedOf(seed, Stream::kConvBias), -0.5, 0.5);
  c.dt_bias = Uniform(SeedOf(seed, Stream::kDtBias), -5.0, -2.0);
  c.D = Uniform(SeedOf(seed, Stream::kD), -1.0, 1.0);
  c.rmsnorm_weight = Uniform(SeedOf(seed, Stream::kNormWeight), 0.5, 2.0);
  c.conv_initial_states = Uniform(SeedOf(seed, Stream::kConvStates), -2.0, 2.0);
  c.initial_states = Uniform(SeedOf(seed, Stream::kStates), -1.0, 1.0);
}

const std::vector<SplitCase>& SplitCases() {
  static const std::vector<SplitCase> cases = [] {
    std::vector<SplitCase> list;
    AddSplitShapes(&list);
    AddSplitOperands(&list);
    AddSplitSequences(&list);
    AddSplitDigits(&list);
    return list;
  }();
  return cases;
}

}  // namespace tilescan::testing
