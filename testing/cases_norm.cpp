// The gated RMSNorm: sizes, dtypes, gates, and digits of the public reference.
#include <string>
#include <utility>
#include <vector>

#include "testing/case_list.h"
#include "testing/layer_cases.h"

namespace tilescan::testing {
namespace {

void AddNorms(std::vector<NormCase>* cases) {
  struct Sizes {
    int64_t batch, seqlen, dim, group_size;
  };
  constexpr Sizes kSizes[] = {
      {0, 0, 8, 0},     {1, 0, 1, 0},      {3, 0, 24, 0},    {2, 3, 40, 8},   {1, 2, 63, 21},
      {2, 2, 256, 64},  {1, 3, 1000, 500}, {2, 0, 1536, 0},  {1, 2, 5120, 0}, {1, 2, 8192, 1024},
      {1, 0, 16400, 0}, {1, 0, 40000, 0},  {300, 0, 48, 16},
  };
  uint64_t seed = 5500;
  for (const auto& [batch, seqlen, dim, group_size] : kSizes) {
    for (const DType dtype : kFloatDTypes) {
      ++seed;
      NormCase c = RandomNormCase(Named("norm/shapes", {batch, seqlen, dim, group_size}, dtype),
                                  batch, seqlen, dim, seed);
      AddOptionalOperands(&c, seed);
      c.about = "sizes (batch, seqlen, dim, group_size)";
      c.group_size = group_size;
      c.x_dtype = c.z_dtype = c.out_dtype = dtype;
      c.norm_before_gate = seed % 2 == 0;
      if (seed % 3 == 0) c.bias = {};
      cases->push_back(std::move(c));
    }
  }
  for (const bool norm_before_gate : {false, true}) {
    for (const DType x : kFloatDTypes) {
      for (const DType z : kFloatDTypes) {
        ++seed;
        NormCase c = RandomNormCase(std::string("norm/dtypes/") + DTypeName(x) + "_" +
                                        DTypeName(z) + (norm_before_gate ? "_before" : ""),
                                    2, 3, 96, seed);
        AddOptionalOperands(&c, seed);
        c.about = "every operand its own dtype";
        c.norm_before_gate = norm_before_gate;
        c.x_dtype = x;
        c.z_dtype = z;
        c.weight_dtype = kFloatDTypes[seed % 3];
        c.out_dtype = kFloatDTypes[(seed / 3) % 3];
        cases->push_back(std::move(c));
      }
    }
  }
  NormCase plain = RandomNormCase("norm/no_gate", 2, 3, 96, 5600);
  plain.about = "neither gate nor bias";
  cases->push_back(plain);
  NormCase zeros = RandomNormCase("norm/zeros", 2, 3, 96, 5601);
  zeros.about = "eps alone under the root";
  zeros.x = Constant(0.0);
  cases->push_back(zeros);
}

void AddNormDigits(std::vector<NormCase>* cases) {
  NormCase c;
  c.name = "norm/digits/gate_before/float64";
  c.about = "digits of rms_norm_ref";
  c.batch = 2;
  c.seqlen = 3;
  c.dim = 6;
  c.group_size = 3;
  c.eps = 0x1p-10f;  // the same in fp32 and float64
  c.x = Sine(1);
  c.weight = Sine(2);
  c.bias = Sine(3);
  c.z = Sine(4);
  c.x_dtype = c.z_dtype = c.out_dtype = c.weight_dtype = DType::kFloat64;
  c.expected = {{"out", 0, -0.723963013407, kDigits},
                {"out", 7, -0.596818837357, kDigits},
                {"out", 20, -0.954417144530, kDigits},
                {"out", 35, 1.257729958394, kDigits}};
  cases->push_back(c);
  c.name = "norm/digits/gate_behind/float64";
  c.norm_before_gate = true;
  c.expected = {{"out", 0, -0.256164778734, kDigits},
                {"out", 7, -0.117329075202, kDigits},
                {"out", 20, 0.101138910921, kDigits},
                {"out", 35, 0.128461900212, kDigits}};
  cases->push_back(c);
  c.name = "norm/digits/plain/float64";
  c.bias = c.z = {};
  c.group_size = 0;
  c.eps = 0.125f;
  c.expected = {{"out", 0, 0.901304992400, kDigits},
                {"out", 7, -0.085660796387, kDigits},
                {"out", 20, -0.032067848646, kDigits},
                {"out", 35, -0.691572076520, kDigits}};
  cases->push_back(c);
}

}  // namespace

NormCase RandomNormCase(std::string name, int64_t batch, int64_t seqlen, int64_t dim,
                        uint64_t seed) {
  NormCase c;
  c.name = std::move(name);
  c.batch = batch;
  c.seqlen = seqlen;
  c.dim = dim;
  c.x = Uniform(SeedOf(seed, LayerStream::kX), -4.0, 4.0);
  c.weight = Uniform(SeedOf(seed, LayerStream::kWeight), 0.25, 2.0);
  return c;
}

void AddOptionalOperands(NormCase* norm_case, uint64_t seed) {
  norm_case->bias = Uniform(SeedOf(seed, LayerStream::kBias), -1.0, 1.0);
  norm_case->z = Uniform(SeedOf(seed, LayerStream::kZ), -4.0, 4.0);
}

const std::vector<NormCase>& NormCases() {
  static const std::vector<NormCase> cases = [] {
    std::vector<NormCase> list;
    AddNorms(&list);
    AddNormDigits(&list);
    return list;
  }();
  return cases;
}

}  // namespace tilescan::testing
