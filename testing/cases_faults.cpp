// Small inputs that broke other implementations. The digits expected come from a float64 loop
// outside this project, over inputs that were not rounded: they belong to the float64 form of a
// case.
#include <array>
#include <cmath>
#include <limits>

#include "testing/case_list.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string WithDType(const std::string& name, DType dtype) {
  return name + "/" + DTypeName(dtype);
}

constexpr std::array kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat64};

ScanCase SineCase(std::string name, const CaseSizes& sizes) {
  ScanCase c = RandomScanCase(std::move(name), sizes, 0);
  c.x = Sine(1);
  c.B = Sine(2);
  c.C = Sine(3);
  return c;
}

// x's dtype, and everybody's if it is float64.
void SetDType(DType dtype, ScanCase* c) {
  c->x_dtype = dtype;
  if (dtype != DType::kFloat64) return;
  c->dt_dtype = c->weight_dtype = c->initial_states_dtype = c->final_states_dtype = dtype;
}

// Half a unit of the ninth digit, which is what the digits have.
ExpectedValue Digits(std::string output, int64_t idx, double value) {
  const double last_digit = std::pow(10.0, std::floor(std::log10(std::fabs(value))) - 8);
  return {std::move(output), idx, value, 0.5001 * last_digit};
}

// Exponents that a causal mask must hide reach +1016: hiding by multiplication makes NaN of them.
void AddMaskedTriangle(std::vector<ScanCase>* cases) {
  for (const DType dtype : kDTypes) {
    for (const int64_t chunk_size : {64, 128}) {
      ScanCase c = SineCase(WithDType("C01/chunk" + std::to_string(chunk_size), dtype),
                            {.seqlen = 128, .nheads = 2, .headdim = 16, .dstate = 16});
      c.about = "strong decay: exponents that the causal mask hides overflow";
      SetDType(dtype, &c);
      c.dt = Constant(1);
      c.A = Repeat({-4, -8});
      c.chunk_size = chunk_size;
      if (dtype == DType::kFloat64) {
        const int64_t last_out = (127 * 2 + 0) * 16;
        c.expected = {Digits("out", last_out, 0.420842708), Digits("out", last_out + 1, 2.86893335),
                      Digits("out", last_out + 2, 3.85081604),
                      Digits("final_states", 16 * 16, 0.712825413)};
      }
      cases->push_back(std::move(c));
    }
  }
}

void AddStrongThenWeak(std::vector<ScanCase>* cases) {
  ScanCase c = SineCase("C02/weak_after_strong", {.seqlen = 64, .headdim = 8, .dstate = 8});
  c.about = "strong decay, then weak: differences of running sums lose the weak steps";
  c.dt = [](int64_t idx) { return idx < 8 ? 12.5 : 0.001; };
  c.A = Constant(-1);
  c.chunk_size = 64;
  c.first_token = 9;
  // A segment sum reaches 3.7e-7, a difference of float32 running sums 2.8e-5.
  c.max_relative = 2e-6;
  ScanCase in_float64 = c;
  cases->push_back(std::move(c));
  in_float64.name = WithDType("C02/weak_after_strong", DType::kFloat64);
  SetDType(DType::kFloat64, &in_float64);
  in_float64.expected = {Digits("out", 63 * 8, 8.70696501), Digits("out", 63 * 8 + 1, 9.54010269),
                         Digits("out", 63 * 8 + 2, 5.4976393)};
  cases->push_back(std::move(in_float64));

  for (const double A : {-1e3, -1e5, -1e7}) {
    ScanCase still = SineCase("C02/still_after_strong/A" + std::to_string(static_cast<int64_t>(A)),
                              {.seqlen = 64, .headdim = 8, .dstate = 8});
    still.about =
        "very strong decay, then steps of exactly 0, through which the state stands still";
    still.dt = [](int64_t idx) {
      const double step = 10.0 * (1.0 + 0.37 * std::fabs(std::sin(1.7 * static_cast<double>(idx))));
      return idx < 33 ? step : 0.0;
    };
    still.A = Constant(A);
    still.chunk_size = 64;
    still.first_token = 33;
    still.max_relative = 2e-6;
    cases->push_back(std::move(still));
  }
}

void AddStepExtremes(std::vector<ScanCase>* cases) {
  ScanCase by_hand = RandomScanCase("C03/zero_step", {.seqlen = 2}, 0);
  by_hand.about = "a step of exactly 0, checked by hand";
  by_hand.x = Repeat({2, 3});
  by_hand.dt = Repeat({0.5, 0});
  by_hand.A = Constant(-1);
  by_hand.B = Repeat({5, 7});
  by_hand.C = Repeat({11, 13});
  by_hand.expected = {{"out", 0, 55, 0}, {"out", 1, 65, 0}, {"final_states", 0, 5, 0}};
  cases->push_back(std::move(by_hand));

  ScanCase huge = SineCase("C03/huge_step", {.seqlen = 64, .headdim = 8, .dstate = 8});
  huge.about = "a step of 1e30 leaves that token's own input as the state";
  huge.dt = [](int64_t idx) { return idx == 20 ? 1e30 : 0.05; };
  huge.A = Constant(-1);
  huge.chunk_size = 64;
  cases->push_back(std::move(huge));
}

void AddRaggedTail(std::vector<ScanCase>* cases) {
  struct Ragged {
    int64_t seqlen;
    double out;
    double state;
  };
  for (const DType dtype : kDTypes) {
    for (const int64_t chunk_size : {64, 256}) {
      for (const Ragged& ragged :
           {Ragged{1, 4.34546098, 2.05959704}, Ragged{63, -9.71320329, -0.500843289},
            Ragged{65, -3.06786091, -2.41453694}, Ragged{200, -8.301793, 0.708770272},
            Ragged{257, -0.574588411, 0.275963536}}) {
        ScanCase c = SineCase(WithDType("C04/l" + std::to_string(ragged.seqlen) + "/chunk" +
                                            std::to_string(chunk_size),
                                        dtype),
                              {.seqlen = ragged.seqlen, .nheads = 2, .headdim = 8, .dstate = 8});
        c.about = "a last chunk that is not full, with bias and softplus";
        SetDType(dtype, &c);
        c.dt = Mapped(Sine(4), [](double value) { return 0.5 * value; });
        c.dt_bias = Constant(3);
        c.dt_softplus = true;
        c.A = Repeat({-0.05, -0.2});
        c.chunk_size = chunk_size;
        if (dtype == DType::kFloat64) {
          c.expected = {Digits("out", (ragged.seqlen - 1) * 16, ragged.out),
                        Digits("final_states", 0, ragged.state)};
        }
        cases->push_back(std::move(c));
      }
    }
  }
}

// out[h] = group of h + 1 for 8 heads.
std::vector<ExpectedValue> GroupNumbers(int64_t ngroups) {
  std::vector<ExpectedValue> expected;
  for (int64_t head_idx = 0; head_idx < 8; ++head_idx) {
    const int64_t group_idx = head_idx / (8 / ngroups);
    expected.push_back({"out", head_idx, static_cast<double>(group_idx + 1), 0});
  }
  return expected;
}

template <typename Case>
Case GroupMap(Case c, int64_t ngroups) {
  c.about = "which group a head belongs to";
  c.ngroups = ngroups;
  c.x = Constant(1);
  c.dt = Constant(1);
  c.A = Constant(-1);
  c.B = [](int64_t idx) { return idx % 2 == 0 ? static_cast<double>(idx / 2 + 1) : 0.0; };
  c.C = Repeat({1, 0});
  c.expected = GroupNumbers(ngroups);
  return c;
}

constexpr CaseSizes kGroupMapSizes = {.seqlen = 1, .nheads = 8, .dstate = 2};

void AddPacked(std::vector<ScanCase>* cases) {
  ScanCase c = SineCase("C06/packed",
                        {.seqlen = 200, .nheads = 4, .headdim = 16, .ngroups = 2, .dstate = 16});
  c.about = "packed sequences of lengths 5, 0, 64, 1, 130";
  c.cu_seqlens = {0, 5, 5, 69, 70, 200};
  c.dt = Mapped(Sine(4), [](double value) { return 0.05 + 0.04 * std::fabs(value); });
  c.A = Repeat({-0.5, -1, -2, -4});
  c.chunk_size = 64;
  c.initial_states = [](int64_t idx) {
    const int64_t seq = idx / (4 * 16 * 16);
    return seq == 2 || seq == 3 ? 0.0 : Sine(5)(idx);
  };
  ScanCase snapshots = c;
  cases->push_back(std::move(c));

  snapshots.name = "C06/states_every_64";
  snapshots.about = "states after 64, 128, ... tokens of each packed sequence, not of the whole";
  snapshots.seqlen = 630;
  snapshots.cu_seqlens = {0, 130, 330, 630};
  snapshots.initial_states = Sine(5);
  snapshots.states_every = 64;
  cases->push_back(std::move(snapshots));
}

void AddBatch(std::vector<ScanCase>* cases) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    ScanCase c = SineCase(WithDType("C11/batch", dtype),
                          {.batch = 4, .seqlen = 1024, .nheads = 8, .headdim = 64, .dstate = 64});
    c.about = "many chunks, rows and heads";
    c.x_dtype = dtype;
    c.chunk_size = 128;
    cases->push_back(std::move(c));
  }
}

// Pool of 6 states, slots 3 and 0 used, everything that must not be looked at NaN.
StateUpdateCase SlotCase(std::string name) {
  const CaseSizes sizes = {.batch = 4, .seqlen = 0, .nheads = 2, .headdim = 16, .dstate = 16};
  StateUpdateCase c = RandomStateUpdateCase(std::move(name), sizes, 9);
  c.about = "slots: padding and the states of others are neither read nor written";
  c.num_slots = 6;
  c.state_batch_indices = {3, -1, 0, -1};
  const auto nan_in_padding = [](Fill fill, int64_t row_size) -> Fill {
    return [=](int64_t idx) { return idx / row_size % 2 == 1 ? kNan : fill(idx); };
  };
  c.state = [](int64_t idx) {
    const int64_t slot = idx / (2 * 16 * 16);
    return slot == 3 || slot == 0 ? Sine(5)(idx) : kNan;
  };
  c.x = nan_in_padding(Sine(1), 2 * 16);
  c.dt = nan_in_padding(Octaves(4, -6, -1), 2);
  c.B = nan_in_padding(Sine(2), 16);
  c.C = nan_in_padding(Sine(3), 16);
  return c;
}

}  // namespace

std::vector<ScanCase> FaultScanCases() {
  std::vector<ScanCase> cases;
  AddMaskedTriangle(&cases);
  AddStrongThenWeak(&cases);
  AddStepExtremes(&cases);
  AddRaggedTail(&cases);
  for (const int64_t ngroups : {1, 2, 4, 8}) {
    const std::string name = "C05/scan/g" + std::to_string(ngroups);
    cases.push_back(GroupMap(RandomScanCase(name, kGroupMapSizes, 0), ngroups));
  }
  AddPacked(&cases);
  AddBatch(&cases);
  return cases;
}

std::vector<StateUpdateCase> FaultStateUpdateCases() {
  std::vector<StateUpdateCase> cases;
  for (const int64_t ngroups : {1, 2, 4, 8}) {
    const std::string name = "C05/decode/g" + std::to_string(ngroups);
    StateUpdateCase c = GroupMap(RandomStateUpdateCase(name, kGroupMapSizes, 0), ngroups);
    c.state = Constant(0);
    cases.push_back(std::move(c));
  }
  cases.push_back(SlotCase("C09/slots"));

  StateUpdateCase fresh = SlotCase("C09/fresh");
  fresh.about = "a fresh slot counts as zeros, whatever it holds";
  fresh.fresh = {0, 0, 1, 1};
  fresh.state = [](int64_t idx) { return idx / (2 * 16 * 16) == 3 ? Sine(5)(idx) : kNan; };
  cases.push_back(std::move(fresh));

  for (const bool has_optional : {false, true}) {
    StateUpdateCase verify = RandomStateUpdateCase(
        has_optional ? "C09/rejected_tokens/optional" : "C09/rejected_tokens",
        {.batch = 2, .seqlen = 4, .nheads = 2, .headdim = 16, .dstate = 16}, 10);
    if (has_optional) AddOptionalOperands(&verify, 10);
    verify.about = "four tokens, two accepted: NaN in the rejected ones does not reach the state";
    verify.num_accepted = {2, 2};
    const Fill x = verify.x;
    verify.x = [x](int64_t idx) { return idx / (2 * 16) % 4 >= 2 ? kNan : x(idx); };
    cases.push_back(std::move(verify));
  }
  return cases;
}

}  // namespace tilescan::testing
