// The decoding step: sizes, dtypes, operands, slots and several tokens.
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "testing/case_list.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void AddShapes(std::vector<StateUpdateCase>* cases) {
  constexpr std::array kSizes = {
      CaseSizes{.batch = 0, .seqlen = 0, .nheads = 2, .headdim = 4, .ngroups = 1, .dstate = 4},
      CaseSizes{.batch = 1, .seqlen = 0, .nheads = 1, .headdim = 1, .ngroups = 1, .dstate = 1},
      CaseSizes{.batch = 3, .seqlen = 1, .nheads = 2, .headdim = 3, .ngroups = 1, .dstate = 4},
      CaseSizes{.batch = 2, .seqlen = 0, .nheads = 4, .headdim = 5, .ngroups = 2, .dstate = 17},
      CaseSizes{.batch = 2, .seqlen = 3, .nheads = 3, .headdim = 17, .ngroups = 3, .dstate = 8},
      CaseSizes{.batch = 5, .seqlen = 0, .nheads = 8, .headdim = 64, .ngroups = 1, .dstate = 128},
      CaseSizes{.batch = 1, .seqlen = 0, .nheads = 16, .headdim = 64, .ngroups = 8, .dstate = 128},
      CaseSizes{.batch = 2, .seqlen = 5, .nheads = 2, .headdim = 80, .ngroups = 1, .dstate = 64},
      CaseSizes{.batch = 1, .seqlen = 2, .nheads = 2, .headdim = 128, .ngroups = 1, .dstate = 256},
      CaseSizes{.batch = 2, .seqlen = 0, .nheads = 8, .headdim = 4, .ngroups = 2, .dstate = 16},
      CaseSizes{.batch = 1, .seqlen = 9, .nheads = 1, .headdim = 33, .ngroups = 1, .dstate = 31},
  };
  uint64_t seed = 1000;
  for (const CaseSizes& sizes : kSizes) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      ++seed;
      StateUpdateCase c = RandomStateUpdateCase(
          "decode/shapes/" + SizesName(sizes) + "/" + DTypeName(dtype), sizes, seed);
      AddOptionalOperands(&c, seed);
      c.about = "sizes";
      c.is_D_per_channel = seed % 2 == 0;
      c.x_dtype = c.B_dtype = c.C_dtype = c.z_dtype = c.out_dtype = dtype;
      cases->push_back(std::move(c));
    }
  }
}

constexpr CaseSizes kSizes = {
    .batch = 4, .seqlen = 0, .nheads = 4, .headdim = 12, .ngroups = 2, .dstate = 20};

StateUpdateCase DecodeCase(std::string name, std::string about, int64_t num_tokens, uint64_t seed) {
  CaseSizes sizes = kSizes;
  sizes.seqlen = num_tokens;
  StateUpdateCase c = RandomStateUpdateCase(std::move(name), sizes, seed);
  AddOptionalOperands(&c, seed);
  c.about = std::move(about);
  return c;
}

void AddDTypes(std::vector<StateUpdateCase>* cases) {
  constexpr DType f32 = DType::kFloat32;
  constexpr DType bf16 = DType::kBFloat16;
  constexpr DType f16 = DType::kFloat16;
  struct OperandDTypes {
    DType state, x, dt, B, C, z, out, weight;
  };
  const OperandDTypes combinations[] = {
      {bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16}, {f16, f16, f16, f16, f16, f16, f16, f16},
      {bf16, f32, f32, f32, f32, f32, f32, f32},        {f16, f32, f32, f32, f32, f32, f32, f32},
      {f32, bf16, f16, f32, bf16, f16, f32, bf16},      {f32, f16, bf16, f16, f32, f32, bf16, f16},
      {bf16, f16, f32, bf16, f16, f32, f16, f32},       {f16, bf16, f16, f32, f16, bf16, f16, bf16},
  };
  uint64_t seed = 1100;
  for (const OperandDTypes& dtypes : combinations) {
    ++seed;
    StateUpdateCase c = DecodeCase("decode/dtypes/" + std::to_string(seed - 1100),
                                   "every operand has a dtype of its own", 3, seed);
    c.state_dtype = dtypes.state;
    c.x_dtype = dtypes.x;
    c.dt_dtype = dtypes.dt;
    c.B_dtype = dtypes.B;
    c.C_dtype = dtypes.C;
    c.z_dtype = dtypes.z;
    c.out_dtype = dtypes.out;
    c.weight_dtype = dtypes.weight;
    cases->push_back(std::move(c));
  }
  StateUpdateCase c = DecodeCase("decode/dtypes/float64", "float64 throughout", 3, 1120);
  c.state_dtype = c.x_dtype = c.dt_dtype = c.B_dtype = c.C_dtype = c.z_dtype = c.out_dtype =
      c.weight_dtype = DType::kFloat64;
  cases->push_back(std::move(c));
}

void AddPresences(std::vector<StateUpdateCase>* cases) {
  for (int presence = 0; presence < 16; ++presence) {
    std::string name = "decode/presence/";
    for (const auto& [bit, letter] : {std::pair(1, 'D'), {2, 'z'}, {4, 'b'}, {8, 'e'}}) {
      if ((presence & bit) != 0) name += letter;
    }
    if (presence == 0) name += "none";
    StateUpdateCase c =
        DecodeCase(std::move(name), "D, z, dt_bias (b) there or not, passed expanded (e) or not",
                   presence % 3, static_cast<uint64_t>(1130 + presence));
    if ((presence & 1) == 0) c.D = nullptr;
    if ((presence & 2) == 0) c.z = nullptr;
    if ((presence & 4) == 0) c.dt_bias = nullptr;
    c.is_expanded = (presence & 8) != 0;
    cases->push_back(std::move(c));
  }
}

void AddSlots(std::vector<StateUpdateCase>* cases) {
  StateUpdateCase permuted =
      DecodeCase("decode/slots/permuted", "rows use slots in any order", 0, 1150);
  permuted.num_slots = 7;
  permuted.state_batch_indices = {6, 0, 3, 2};
  permuted.state_batch_indices_dtype = DType::kInt64;
  cases->push_back(permuted);

  StateUpdateCase padded = permuted;
  padded.name = "decode/slots/padding_only";
  padded.about = "no row has a slot";
  padded.state_batch_indices = {-1, -5, std::numeric_limits<int64_t>::min(), -1};
  cases->push_back(padded);

  StateUpdateCase fresh = DecodeCase("decode/slots/fresh", "some slots count as zeros", 2, 1151);
  fresh.fresh = {1, 0, 255, 0};
  fresh.state = [fill = fresh.state](int64_t idx) {
    const int64_t slot = idx / (kSizes.nheads * kSizes.headdim * kSizes.dstate);
    return slot % 2 == 0 ? kNan : fill(idx);
  };
  cases->push_back(fresh);

  fresh.name = "decode/slots/fresh_bool";
  fresh.fresh = {1, 0, 1, 0};
  fresh.fresh_dtype = DType::kBool;
  cases->push_back(fresh);
}

void AddTokens(std::vector<StateUpdateCase>* cases) {
  for (const DType state_dtype : {DType::kFloat32, DType::kBFloat16}) {
    const std::string dtype_name = std::string("/") + DTypeName(state_dtype);
    StateUpdateCase accepted =
        DecodeCase("decode/num_accepted" + dtype_name, "every count of accepted tokens", 3, 1160);
    accepted.num_accepted = {0, 1, 2, 3};
    accepted.state_dtype = state_dtype;
    cases->push_back(accepted);

    StateUpdateCase fresh = accepted;
    fresh.name = "decode/num_accepted/fresh" + dtype_name;
    fresh.about = "fresh slots become zeros even with no token accepted";
    fresh.fresh = {1, 1, 0, 1};
    cases->push_back(fresh);
  }
}

void AddRanges(std::vector<StateUpdateCase>* cases) {
  StateUpdateCase open =
      DecodeCase("decode/dt/negative", "negative steps through open limits", 2, 1170);
  open.dt_softplus = false;
  open.dt_bias = nullptr;
  open.dt = Uniform(41, -0.125, 0.125);
  open.dt_limit[0] = -std::numeric_limits<float>::infinity();
  cases->push_back(open);

  StateUpdateCase clamped = DecodeCase("decode/dt/clamped", "limits on both sides", 2, 1171);
  clamped.dt_limit[0] = 0.01f;
  clamped.dt_limit[1] = 0.05f;
  cases->push_back(clamped);

  StateUpdateCase strong =
      DecodeCase("decode/decay/strong", "the state is all but forgotten", 4, 1172);
  strong.dt_softplus = false;
  strong.dt = Uniform(42, 0, 20);
  strong.A = Uniform(43, -16, -1);
  cases->push_back(strong);

  StateUpdateCase growing = DecodeCase("decode/decay/positive_A", "the state grows", 4, 1173);
  growing.A = Uniform(44, 1, 16);
  cases->push_back(growing);

  StateUpdateCase nan =
      DecodeCase("decode/nan/x_of_a_row", "reaches its own channel only", 1, 1174);
  nan.x = [fill = nan.x](int64_t idx) { return idx == 17 ? kNan : fill(idx); };
  cases->push_back(nan);
}

}  // namespace

std::vector<StateUpdateCase> OwnStateUpdateCases() {
  std::vector<StateUpdateCase> cases;
  AddShapes(&cases);
  AddDTypes(&cases);
  AddPresences(&cases);
  AddSlots(&cases);
  AddTokens(&cases);
  AddRanges(&cases);
  return cases;
}

}  // namespace tilescan::testing
