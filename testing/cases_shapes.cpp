// Sizes from the smallest up, mostly multiples of nothing, in every dtype; and every operand there
// and not there, in every dtype.
#include <array>

#include "testing/case_list.h"

namespace tilescan::testing {
namespace {

constexpr std::array kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

constexpr std::array kSizes = {
    // Nothing to do, and next to nothing.
    CaseSizes{.batch = 0, .seqlen = 5, .nheads = 2, .headdim = 4, .ngroups = 1, .dstate = 4},
    CaseSizes{.batch = 2, .seqlen = 0, .nheads = 2, .headdim = 4, .ngroups = 1, .dstate = 4},
    CaseSizes{.batch = 1, .seqlen = 1, .nheads = 1, .headdim = 1, .ngroups = 1, .dstate = 1},
    CaseSizes{.batch = 3, .seqlen = 2, .nheads = 1, .headdim = 3, .ngroups = 1, .dstate = 4},
    // Around vectors, register tiles and chunks, on either side.
    CaseSizes{.batch = 2, .seqlen = 47, .nheads = 3, .headdim = 5, .ngroups = 1, .dstate = 8},
    CaseSizes{.batch = 1, .seqlen = 48, .nheads = 2, .headdim = 17, .ngroups = 2, .dstate = 5},
    CaseSizes{.batch = 1, .seqlen = 49, .nheads = 4, .headdim = 8, .ngroups = 2, .dstate = 17},
    CaseSizes{.batch = 2, .seqlen = 63, .nheads = 4, .headdim = 16, .ngroups = 1, .dstate = 16},
    CaseSizes{.batch = 1, .seqlen = 65, .nheads = 2, .headdim = 33, .ngroups = 1, .dstate = 31},
    CaseSizes{.batch = 1, .seqlen = 130, .nheads = 3, .headdim = 1, .ngroups = 3, .dstate = 3},
    CaseSizes{.batch = 2, .seqlen = 257, .nheads = 2, .headdim = 3, .ngroups = 1, .dstate = 1},
    CaseSizes{.batch = 1, .seqlen = 257, .nheads = 1, .headdim = 64, .ngroups = 1, .dstate = 1},
    CaseSizes{.batch = 1, .seqlen = 300, .nheads = 1, .headdim = 1, .ngroups = 1, .dstate = 128},
    // The shapes of models, with fewer heads.
    CaseSizes{.batch = 1, .seqlen = 130, .nheads = 3, .headdim = 64, .ngroups = 1, .dstate = 128},
    CaseSizes{.batch = 1, .seqlen = 100, .nheads = 16, .headdim = 64, .ngroups = 8, .dstate = 128},
    CaseSizes{.batch = 1, .seqlen = 96, .nheads = 4, .headdim = 80, .ngroups = 2, .dstate = 128},
    CaseSizes{.batch = 1, .seqlen = 64, .nheads = 2, .headdim = 128, .ngroups = 1, .dstate = 256},
    CaseSizes{.batch = 2, .seqlen = 70, .nheads = 2, .headdim = 32, .ngroups = 1, .dstate = 128},
    CaseSizes{.batch = 2, .seqlen = 33, .nheads = 2, .headdim = 64, .ngroups = 1, .dstate = 64},
    CaseSizes{.batch = 2, .seqlen = 20, .nheads = 8, .headdim = 4, .ngroups = 2, .dstate = 16},
};

// A letter for each optional operand that is there.
std::string PresenceName(int presence) {
  std::string name;
  for (const auto& [bit, letter] : {std::pair(1, 'D'), {2, 'z'}, {4, 'b'}, {8, 'i'}}) {
    if ((presence & bit) != 0) name += letter;
  }
  return name.empty() ? "none" : name;
}

void AddPresences(std::vector<ScanCase>* cases) {
  for (int presence = 0; presence < 16; ++presence) {
    const auto seed = static_cast<uint64_t>(100 + presence);
    ScanCase c = RandomScanCase(
        "presence/" + PresenceName(presence),
        {.batch = 2, .seqlen = 53, .nheads = 4, .headdim = 8, .ngroups = 2, .dstate = 16}, seed);
    AddOptionalOperands(&c, seed);
    c.about = "which of D, z, dt_bias (b) and initial_states (i) are there";
    if ((presence & 1) == 0) c.D = nullptr;
    if ((presence & 2) == 0) c.z = nullptr;
    if ((presence & 4) == 0) c.dt_bias = nullptr;
    if ((presence & 8) == 0) c.initial_states = nullptr;
    c.has_final_states = presence != 0;
    cases->push_back(std::move(c));
  }
}

struct OperandDTypes {
  DType x, B, dt, weight, initial_states, final_states, states_out;
};

std::string Name(const OperandDTypes& dtypes) {
  std::string name = "dtypes/x_" + std::string(DTypeName(dtypes.x));
  name += std::string("_B_") + DTypeName(dtypes.B) + "_dt_" + DTypeName(dtypes.dt);
  name += std::string("_A_") + DTypeName(dtypes.weight) + "_initial_";
  name += DTypeName(dtypes.initial_states);
  name += std::string("_final_") + DTypeName(dtypes.final_states);
  return name + "_states_out_" + DTypeName(dtypes.states_out);
}

void AddDTypes(std::vector<ScanCase>* cases) {
  constexpr DType f64 = DType::kFloat64;
  constexpr DType f32 = DType::kFloat32;
  constexpr DType bf16 = DType::kBFloat16;
  constexpr DType f16 = DType::kFloat16;
  const OperandDTypes combinations[] = {
      {f32, f32, bf16, f32, f32, bf16, f16},      {f32, f32, f16, bf16, bf16, f32, bf16},
      {f32, f32, f32, f16, f16, f16, f32},        {bf16, f32, f32, f32, f32, f32, f32},
      {bf16, bf16, bf16, bf16, bf16, bf16, bf16}, {bf16, f32, f16, f16, f32, f16, bf16},
      {f16, f32, f32, bf16, bf16, f32, f16},      {f16, f16, f16, f16, f16, f16, f16},
      {f16, f16, bf16, f32, f32, bf16, f32},      {f64, f64, f64, f64, f64, f64, f64},
      {f64, f64, f32, bf16, f32, f16, f32},
  };
  uint64_t seed = 200;
  for (const OperandDTypes& dtypes : combinations) {
    ++seed;
    ScanCase c = RandomScanCase(
        Name(dtypes),
        {.batch = 2, .seqlen = 70, .nheads = 4, .headdim = 12, .ngroups = 2, .dstate = 20}, seed);
    AddOptionalOperands(&c, seed);
    c.about = "operands of different dtypes";
    c.x_dtype = dtypes.x;
    c.B_dtype = dtypes.B;
    c.dt_dtype = dtypes.dt;
    c.weight_dtype = dtypes.weight;
    c.initial_states_dtype = dtypes.initial_states;
    c.final_states_dtype = dtypes.final_states;
    c.states_out_dtype = dtypes.states_out;
    c.states_every = 16;
    cases->push_back(std::move(c));
  }
}

void AddChunkSizes(std::vector<ScanCase>* cases) {
  for (const int64_t chunk_size : {1, 7, 16, 48, 64, 96, 128, 256, 1000}) {
    ScanCase c = RandomScanCase(
        "chunk_size/" + std::to_string(chunk_size),
        {.batch = 1, .seqlen = 301, .nheads = 2, .headdim = 24, .ngroups = 1, .dstate = 40}, 300);
    AddOptionalOperands(&c, 300);
    c.about = "a chunk size that was asked for: results depend on it by rounding only";
    c.chunk_size = chunk_size;
    cases->push_back(std::move(c));
  }
}

}  // namespace

std::vector<ScanCase> ShapeScanCases() {
  std::vector<ScanCase> cases;
  uint64_t seed = 1;
  for (const CaseSizes& sizes : kSizes) {
    for (const DType dtype : kDTypes) {
      ++seed;
      ScanCase c =
          RandomScanCase("shapes/" + SizesName(sizes) + "/" + DTypeName(dtype), sizes, seed);
      AddOptionalOperands(&c, seed);
      c.about = "sizes";
      c.x_dtype = dtype;
      c.is_D_per_channel = seed % 2 == 0;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<ScanCase> OperandScanCases() {
  std::vector<ScanCase> cases;
  AddPresences(&cases);
  AddDTypes(&cases);
  AddChunkSizes(&cases);
  return cases;
}

}  // namespace tilescan::testing
