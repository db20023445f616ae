// The causal convolution: sizes, dtypes, sequences, and digits of the public reference.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "testing/case_list.h"
#include "testing/layer_cases.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void AddConvShapes(std::vector<ConvCase>* cases) {
  struct Sizes {
    int64_t batch, seqlen, dim, width;
  };
  constexpr Sizes kSizes[] = {
      {0, 5, 4, 4},     {2, 0, 4, 4},   {1, 1, 1, 2},     {2, 1, 3, 4},     {1, 2, 17, 4},
      {2, 3, 5, 3},     {3, 33, 8, 4},  {1, 64, 64, 4},   {2, 65, 40, 2},   {1, 257, 100, 4},
      {2, 16, 1100, 4}, {1, 700, 3, 4}, {1, 1030, 16, 3}, {1, 40, 1032, 2}, {2, 2304, 3, 4},
  };
  uint64_t seed = 5000;
  for (const auto& [batch, seqlen, dim, width] : kSizes) {
    for (const DType dtype : kFloatDTypes) {
      ++seed;
      ConvCase c = RandomConvCase(Named("conv/shapes", {batch, seqlen, dim, width}, dtype), batch,
                                  seqlen, dim, seed);
      c.about = "sizes (batch, seqlen, dim, width)";
      c.width = width;
      c.x_dtype = dtype;
      if (seed % 3 != 0) AddOptionalOperands(&c, seed);
      cases->push_back(std::move(c));
    }
  }
}

ConvCase SmallConv(std::string name, std::string about, uint64_t seed) {
  ConvCase c = RandomConvCase("conv/" + std::move(name), 2, 37, 24, seed);
  AddOptionalOperands(&c, seed);
  c.about = std::move(about);
  return c;
}

void AddConvOperands(std::vector<ConvCase>* cases) {
  ConvCase none = SmallConv("no_final_states", "final states are optional", 5100);
  none.has_final_states = false;
  none.bias = none.initial_states = {};
  cases->push_back(none);
  ConvCase linear = SmallConv("no_activation", "without silu", 5101);
  linear.has_silu = false;
  cases->push_back(linear);
  uint64_t seed = 5110;
  for (const DType x : kFloatDTypes) {
    for (const DType weight : kFloatDTypes) {
      ++seed;
      ConvCase c = SmallConv(std::string("dtypes/") + DTypeName(x) + "_" + DTypeName(weight),
                             "every operand its own dtype", seed);
      c.x_dtype = x;
      c.weight_dtype = weight;
      c.initial_states_dtype = kFloatDTypes[seed % 3];
      c.final_states_dtype = kFloatDTypes[(seed + 1) % 3];
      cases->push_back(std::move(c));
    }
  }
  ConvCase wide = SmallConv("float64", "only the reference takes it", 5130);
  wide.x_dtype = wide.weight_dtype = DType::kFloat64;
  cases->push_back(wide);
  ConvCase special = SmallConv("nonfinite", "infinities and NaN reach their windows only", 5131);
  special.width = 3;
  special.x = [x = special.x](int64_t idx) {
    return idx % 97 == 11 ? kNan : idx % 89 == 5 ? kInfinity : x(idx);
  };
  cases->push_back(special);
}

void AddConvSequences(std::vector<ConvCase>* cases) {
  struct Ids {
    const char* name;
    const char* about;
    std::vector<int32_t> ids;
  };
  const Ids kIds[] = {
      {"changes", "no window across a change of id", {0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 0, 0}},
      {"returns", "an id that returns is a new sequence", {5, 5, 7, 5, 7, 7, 5, 5, 5, 2, 2, 5}},
      {"padding", "windows pass over padding", {-1, 0, 0, -1, -3, 0, 0, 1, -1, 1, 1, -1}},
      {"padding_between", "padding between sequences", {3, -1, 4, 4, -1, -1, 5, -1, 5, -1, 4, 4}},
      {"all_padding", "the state passes on", {-1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
      {"padded_end",
       "final states of what was last seen",
       {0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1}},
  };
  uint64_t seed = 5200;
  for (const auto& [name, about, ids] : kIds) {
    for (const DType dtype : kFloatDTypes) {
      ++seed;
      ConvCase c = RandomConvCase(std::string("conv/seq_idx/") + name + "/" + DTypeName(dtype), 2,
                                  static_cast<int64_t>(ids.size()), 40, seed);
      AddOptionalOperands(&c, seed);
      c.about = about;
      c.x_dtype = dtype;
      c.seq_idx = ids;
      c.seq_idx.insert(c.seq_idx.end(), ids.rbegin(), ids.rend());
      cases->push_back(std::move(c));
    }
  }
  // Longer than any tile: runs of many lengths, padding among them.
  ConvCase tiles = RandomConvCase("conv/seq_idx/tiles", 1, 1300, 24, 5250);
  AddOptionalOperands(&tiles, 5250);
  tiles.about = "runs across the ends of tiles";
  int32_t id = 0;
  for (int64_t length = 1; static_cast<int64_t>(tiles.seq_idx.size()) < 1300; length += 7) {
    tiles.seq_idx.insert(tiles.seq_idx.end(), static_cast<size_t>(length),
                         id % 4 == 2 ? -1 : id / 2);
    ++id;
  }
  tiles.seq_idx.resize(1300);
  cases->push_back(tiles);
  const std::pair<const char*, std::vector<int64_t>> kPacked[] = {
      {"short", {0, 1, 1, 3, 6, 6, 10, 11, 12}},
      {"empty_ends", {0, 0, 0, 5, 12, 12}},
      {"one", {0, 12}},
      {"long", {0, 3, 3, 515, 516, 1100, 1101, 1300}},
  };
  for (const auto& [name, cu_seqlens] : kPacked) {
    for (const DType dtype : kFloatDTypes) {
      ++seed;
      ConvCase c = RandomConvCase(std::string("conv/packed/") + name + "/" + DTypeName(dtype), 1,
                                  cu_seqlens.back(), 24, seed);
      AddOptionalOperands(&c, seed);
      c.about = "packed sequences with states of their own";
      c.x_dtype = c.initial_states_dtype = dtype;
      c.cu_seqlens = cu_seqlens;
      if (dtype != DType::kFloat32) c.cu_seqlens_dtype = DType::kInt64;
      cases->push_back(std::move(c));
    }
  }
  ConvCase none = RandomConvCase("conv/packed/no_sequence", 1, 0, 24, 5299);
  none.about = "no sequence at all";
  none.cu_seqlens = {0};
  cases->push_back(none);
}

void AddConvDigits(std::vector<ConvCase>* cases) {
  ConvCase c;
  c.name = "conv/digits/states/float64";
  c.about = "digits of causal_conv1d_ref";
  c.batch = 2;
  c.seqlen = 7;
  c.dim = 3;
  c.x = Sine(1);
  c.weight = Sine(2);
  c.bias = Sine(3);
  c.initial_states = Sine(4);
  c.has_silu = true;
  c.x_dtype = c.weight_dtype = c.initial_states_dtype = c.final_states_dtype = DType::kFloat64;
  c.expected = {
      {"out", 0, -0.275631776486, kDigits},         {"out", 8, -0.278143100471, kDigits},
      {"out", 20, -0.278459134739, kDigits},        {"out", 21, -0.157689019892, kDigits},
      {"out", 41, -0.233445778474, kDigits},        {"final_states", 0, -0.340946969078, kDigits},
      {"final_states", 5, 0.729678574309, kDigits}, {"final_states", 17, -0.428225346232, kDigits}};
  cases->push_back(c);
  c.name = "conv/digits/short/float64";
  c.batch = 1;
  c.seqlen = 2;
  c.bias = {};
  c.has_silu = false;
  c.expected = {
      {"out", 0, -1.587174047223, kDigits},         {"out", 2, 0.677589111809, kDigits},
      {"out", 5, 0.644107038379, kDigits},          {"final_states", 0, -0.731874234181, kDigits},
      {"final_states", 1, 0.841470984808, kDigits}, {"final_states", 2, -0.051559974266, kDigits},
      {"final_states", 8, -0.998370438735, kDigits}};
  cases->push_back(c);
}

}  // namespace

ConvCase RandomConvCase(std::string name, int64_t batch, int64_t seqlen, int64_t dim,
                        uint64_t seed) {
  ConvCase c;
  c.name = std::move(name);
  c.batch = batch;
  c.seqlen = seqlen;
  c.dim = dim;
  c.x = Uniform(SeedOf(seed, LayerStream::kX), -2.0, 2.0);
  c.weight = Uniform(SeedOf(seed, LayerStream::kWeight), -1.0, 1.0);
  return c;
}

void AddOptionalOperands(ConvCase* conv_case, uint64_t seed) {
  conv_case->has_silu = true;
  conv_case->bias = Uniform(SeedOf(seed, LayerStream::kBias), -1.0, 1.0);
  conv_case->initial_states = Uniform(SeedOf(seed, LayerStream::kStates), -2.0, 2.0);
}

const std::vector<ConvCase>& ConvCases() {
  static const std::vector<ConvCase> cases = [] {
    std::vector<ConvCase> list;
    AddConvShapes(&list);
    AddConvOperands(&list);
    AddConvSequences(&list);
    AddConvDigits(&list);
    return list;
  }();
  return cases;
}

}  // namespace tilescan::testing
