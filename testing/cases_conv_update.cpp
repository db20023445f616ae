// The causal convolution's decoding step: sizes, dtypes, slots, and digits of the public
// reference.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "testing/case_list.h"
#include "testing/layer_cases.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void AddUpdateShapes(std::vector<ConvUpdateCase>* cases) {
  struct Sizes {
    int64_t batch, num_tokens, dim, width, state_len;
  };
  constexpr Sizes kSizes[] = {
      {0, 0, 4, 4, 3},  {1, 0, 1, 2, 1},  {3, 0, 24, 4, 4}, {2, 1, 17, 4, 3},
      {2, 2, 5, 3, 6},  {2, 5, 40, 4, 4}, {1, 9, 33, 4, 3}, {2, 0, 1100, 4, 4},
      {2, 3, 64, 2, 8}, {1, 8, 8, 4, 8},  {5, 1, 26, 3, 4}, {9, 0, 7, 2, 4},
  };
  uint64_t seed = 5300;
  for (const bool is_circular : {false, true}) {
    for (const auto& [batch, num_tokens, dim, width, state_len] : kSizes) {
      for (const DType dtype : kFloatDTypes) {
        ++seed;
        ConvUpdateCase c =
            RandomConvUpdateCase(Named(is_circular ? "conv_update/circular" : "conv_update/shapes",
                                       {batch, num_tokens, dim, width, state_len}, dtype),
                                 batch, num_tokens, dim, seed);
        c.about = "sizes (batch, T, dim, width, state_len)";
        c.width = width;
        c.state_len = state_len;
        c.conv_state_dtype = c.x_dtype = c.out_dtype = dtype;
        if (seed % 3 != 0) AddOptionalOperands(&c, seed);
        for (int32_t row = 0; is_circular && row < batch; ++row) {
          c.cache_seqlens.push_back(row * 1000 + static_cast<int32_t>(seed % 7));
        }
        cases->push_back(std::move(c));
      }
    }
  }
}

void AddUpdateSlots(std::vector<ConvUpdateCase>* cases) {
  uint64_t seed = 5400;
  for (const DType indices : {DType::kInt32, DType::kInt64}) {
    for (const int64_t num_tokens : {2, 0}) {  // 0: one, without a dimension
      for (const bool is_circular : {false, true}) {
        ++seed;
        ConvUpdateCase c = RandomConvUpdateCase(
            std::string("conv_update/slots/") + DTypeName(indices) +
                (num_tokens == 0 ? "_one_token" : "") + (is_circular ? "_circular" : ""),
            4, num_tokens, 24, seed);
        AddOptionalOperands(&c, seed);
        c.about = "slots, padding; what belongs to padding is not read";
        c.num_slots = 7;
        c.state_len = num_tokens == 0 ? 4 : 5;
        c.conv_state_indices = {6, -1, 0, 3};
        c.conv_state_indices_dtype = indices;
        if (num_tokens == 0 && indices == DType::kInt64) c.conv_state_dtype = DType::kBFloat16;
        if (is_circular) c.cache_seqlens = {3, -5, 0, 104};
        const int64_t row_elements = std::max<int64_t>(num_tokens, 1) * 24;
        c.x = [x = c.x, row_elements](int64_t idx) {
          return idx / row_elements == 1 ? kNan : x(idx);
        };
        cases->push_back(std::move(c));
      }
    }
  }
  for (int idx = 0; idx < 2 * 9; ++idx) {
    const DType state = kFloatDTypes[idx / 3 % 3];
    const DType x = kFloatDTypes[idx % 3];
    const int64_t num_tokens = idx < 9 ? 3 : 0;
    ++seed;
    ConvUpdateCase c =
        RandomConvUpdateCase(std::string("conv_update/dtypes/") + DTypeName(state) + "_" +
                                 DTypeName(x) + (num_tokens == 0 ? "_one_token" : ""),
                             2, num_tokens, 24, seed);
    AddOptionalOperands(&c, seed);
    c.about = "every operand its own dtype";
    c.state_len = 4;
    c.conv_state_dtype = state;
    c.x_dtype = x;
    c.weight_dtype = kFloatDTypes[seed % 3];
    c.out_dtype = kFloatDTypes[(seed + 1) % 3];
    cases->push_back(std::move(c));
  }
}

void AddUpdateDigits(std::vector<ConvUpdateCase>* cases) {
  ConvUpdateCase c;
  c.name = "conv_update/digits/shifted/float64";
  c.about = "digits of causal_conv1d_update_ref";
  c.batch = c.num_tokens = 2;
  c.dim = 3;
  c.state_len = 5;
  c.x = Sine(1);
  c.weight = Sine(2);
  c.bias = Sine(3);
  c.conv_state = Sine(4);
  c.has_silu = true;
  c.conv_state_dtype = c.x_dtype = c.out_dtype = c.weight_dtype = DType::kFloat64;
  c.expected = {
      {"out", 0, -0.274461547866, kDigits},        {"out", 5, 0.952659632473, kDigits},
      {"out", 6, 0.042494254641, kDigits},         {"out", 11, -0.263339627831, kDigits},
      {"conv_state", 0, -0.731874234181, kDigits}, {"conv_state", 3, 0.841470984808, kDigits},
      {"conv_state", 4, -0.051559974266, kDigits}, {"conv_state", 29, 0.373829505398, kDigits}};
  cases->push_back(c);
  c.name = "conv_update/digits/circular/float64";
  c.cache_seqlens = {3, 9};
  c.expected = {
      {"out", 0, -0.275631776486, kDigits},        {"out", 5, -0.226302082128, kDigits},
      {"out", 6, 0.621263283961, kDigits},         {"out", 11, -0.182809332702, kDigits},
      {"conv_state", 3, 0.841470984808, kDigits},  {"conv_state", 4, -0.051559974266, kDigits},
      {"conv_state", 15, 0.962573011459, kDigits}, {"conv_state", 19, -0.781355161605, kDigits},
      {"conv_state", 24, -0.165017551926, kDigits}};
  cases->push_back(c);
}

}  // namespace

ConvUpdateCase RandomConvUpdateCase(std::string name, int64_t batch, int64_t num_tokens,
                                    int64_t dim, uint64_t seed) {
  ConvUpdateCase c;
  c.name = std::move(name);
  c.batch = batch;
  c.num_tokens = num_tokens;
  c.dim = dim;
  c.x = Uniform(SeedOf(seed, LayerStream::kX), -2.0, 2.0);
  c.weight = Uniform(SeedOf(seed, LayerStream::kWeight), -1.0, 1.0);
  c.conv_state = Uniform(SeedOf(seed, LayerStream::kStates), -2.0, 2.0);
  return c;
}

void AddOptionalOperands(ConvUpdateCase* update_case, uint64_t seed) {
  update_case->has_silu = true;
  update_case->bias = Uniform(SeedOf(seed, LayerStream::kBias), -1.0, 1.0);
}

const std::vector<ConvUpdateCase>& ConvUpdateCases() {
  static const std::vector<ConvUpdateCase> cases = [] {
    std::vector<ConvUpdateCase> list;
    AddUpdateShapes(&list);
    AddUpdateSlots(&list);
    AddUpdateDigits(&list);
    return list;
  }();
  return cases;
}

}  // namespace tilescan::testing
