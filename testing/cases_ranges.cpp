// Decays from none to total, steps and values at the ends of their ranges, NaN that must stay where
// it belongs.
#include <cmath>
#include <limits>
#include <string>

#include "testing/case_list.h"

namespace tilescan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kInfinityOfLimit = std::numeric_limits<float>::infinity();

constexpr CaseSizes kSizes = {
    .batch = 2, .seqlen = 140, .nheads = 4, .headdim = 8, .ngroups = 2, .dstate = 16};

ScanCase RangeCase(std::string name, std::string about, uint64_t seed) {
  ScanCase c = RandomScanCase(std::move(name), kSizes, seed);
  c.about = std::move(about);
  return c;
}

void AddDecays(std::vector<ScanCase>* cases) {
  ScanCase none = RangeCase("decay/none", "A is 0: nothing is forgotten", 500);
  none.A = Constant(0);
  cases->push_back(none);

  ScanCase weak = RangeCase("decay/weak", "steps of 1e-4 and less", 501);
  weak.dt = Octaves(11, -20, -13);
  weak.A = Uniform(12, -1, -0.01);
  cases->push_back(weak);

  ScanCase strong = RangeCase("decay/strong", "decays of e^-80 a token", 502);
  strong.dt = Uniform(13, 0, 5);
  strong.A = Uniform(14, -16, -1);
  cases->push_back(strong);

  ScanCase total = RangeCase("decay/total", "decays that are 0 in float32 and in float64", 503);
  total.dt = Uniform(15, 1, 100);
  total.A = Uniform(16, -1e6, -1e3);
  cases->push_back(total);

  ScanCase mixed = RangeCase("decay/mixed", "strong and weak steps in turn", 504);
  mixed.dt = [](int64_t idx) {
    return RandomUnit(17, static_cast<uint64_t>(idx)) < 0.1 ? 20 : 1e-3;
  };
  mixed.A = Repeat({-1, -4, -0.1, -16});
  cases->push_back(mixed);

  ScanCase positive = RangeCase("decay/positive_A", "A is positive: states grow", 505);
  positive.A = Uniform(18, 0.5, 8);
  positive.dt = Octaves(19, -10, -4);
  cases->push_back(positive);

  ScanCase both =
      RangeCase("decay/both_signs_of_A", "heads that grow beside heads that decay", 506);
  both.A = Repeat({-40, 3, -0.5, 10});
  both.dt = Octaves(20, -10, -3);
  cases->push_back(both);

  ScanCase infinite =
      RangeCase("decay/minus_infinity", "A is -infinity: every state is its token's", 507);
  infinite.A = Repeat({-1, -kInfinity, -2, -3});
  cases->push_back(infinite);
}

void AddSteps(std::vector<ScanCase>* cases) {
  ScanCase negative =
      RangeCase("dt/negative", "negative steps, which open limits let through", 510);
  negative.dt = Uniform(21, -0.125, 0.125);
  negative.dt_limit[0] = -kInfinityOfLimit;
  cases->push_back(negative);

  ScanCase stopped = RangeCase("dt/negative_stopped", "negative steps become 0 by default", 511);
  stopped.dt = Uniform(22, -0.125, 0.125);
  cases->push_back(stopped);

  ScanCase clamped = RangeCase("dt/clamped", "limits on both sides, after softplus", 512);
  AddOptionalOperands(&clamped, 512);
  clamped.dt_limit[0] = 0.01f;
  clamped.dt_limit[1] = 0.05f;
  cases->push_back(clamped);

  ScanCase no_softplus = RangeCase("dt/bias_without_softplus", "the bias alone", 513);
  no_softplus.dt_bias = Uniform(23, 0.0, 0.1);
  cases->push_back(no_softplus);

  ScanCase softplus = RangeCase("dt/softplus_range", "softplus of -200 to 1000", 514);
  softplus.dt_softplus = true;
  softplus.dt = Repeat({-200, -100, -87, -20, -17, -10, 0, 19.9, 20.1, 80, 89, 200, 1000, -3, -5});
  cases->push_back(softplus);

  ScanCase zero = RangeCase("dt/zero", "no step at all: the state stands still", 515);
  zero.dt = Constant(0);
  zero.initial_states = Uniform(24, -1, 1);
  cases->push_back(zero);

  ScanCase infinite = RangeCase("dt/infinite_clamped", "infinite steps, clamped", 516);
  infinite.dt = Repeat({0.01, 0.02, kInfinity, 0.04, 0.05});
  infinite.dt_limit[1] = 2.0f;
  cases->push_back(infinite);
}

void AddValues(std::vector<ScanCase>* cases) {
  ScanCase large = RangeCase("values/large", "values of 1e6 and steps of 10", 520);
  large.x = Uniform(25, -1e6, 1e6);
  large.B = Uniform(26, -1e6, 1e6);
  large.C = Uniform(27, -1e6, 1e6);
  large.dt = Uniform(28, 0, 10);
  cases->push_back(large);

  ScanCase small = RangeCase("values/small", "values of 1e-6", 521);
  small.x = Uniform(29, -1e-6, 1e-6);
  small.B = Uniform(30, -1e-6, 1e-6);
  small.C = Uniform(31, -1e-6, 1e-6);
  cases->push_back(small);

  ScanCase heads = RangeCase("values/heads_differ", "one head 1e8 times another", 522);
  const Fill x = heads.x;
  heads.x = [x](int64_t idx) {
    return x(idx) * std::pow(1e4, static_cast<double>(idx / kSizes.headdim % kSizes.nheads) - 2);
  };
  cases->push_back(heads);

  ScanCase gated = RangeCase("values/gate_range", "z from -1000 to 1000", 523);
  gated.z = Repeat({-1000, -200, -86, -20, -5, -1, 0, 1, 5, 20, 90, 1000});
  gated.D = Uniform(32, -1, 1);
  cases->push_back(gated);
}

// A fill with NaN where an element's coordinates say so.
Fill NanWhere(Fill fill, std::function<bool(int64_t)> is_nan) {
  return [=](int64_t idx) { return is_nan(idx) ? kNan : fill(idx); };
}

void AddNan(std::vector<ScanCase>* cases) {
  const int64_t x_token = kSizes.nheads * kSizes.headdim;
  const int64_t B_token = kSizes.ngroups * kSizes.dstate;

  ScanCase token = RangeCase("nan/x_of_a_token", "reaches its head and channel from there on", 530);
  token.x = NanWhere(token.x, [=](int64_t idx) { return idx == 70 * x_token + 3; });
  cases->push_back(token);

  ScanCase row = RangeCase("nan/x_of_a_row", "the other row knows nothing of it", 531);
  row.x = NanWhere(row.x, [=](int64_t idx) { return idx < kSizes.seqlen * x_token; });
  cases->push_back(row);

  ScanCase C = RangeCase("nan/C_of_a_token", "reaches that token's out only", 532);
  C.C = NanWhere(C.C, [=](int64_t idx) { return idx / B_token == 50 && idx % B_token == 0; });
  cases->push_back(C);

  ScanCase B = RangeCase("nan/B_of_a_token", "reaches the heads of its group from there on", 533);
  B.B = NanWhere(B.B, [=](int64_t idx) { return idx / B_token == 50 && idx % B_token == 1; });
  cases->push_back(B);

  ScanCase dt =
      RangeCase("nan/dt_of_a_token", "reaches its head from there on, clamped or not", 534);
  dt.dt = NanWhere(dt.dt, [](int64_t idx) { return idx == 60 * kSizes.nheads + 1; });
  dt.dt_softplus = true;
  dt.dt_limit[1] = 1.0f;
  cases->push_back(dt);

  ScanCase A = RangeCase("nan/A_of_a_head", "the other heads know nothing of it", 535);
  A.A = NanWhere(A.A, [](int64_t idx) { return idx == 2; });
  cases->push_back(A);

  ScanCase gate = RangeCase("nan/D_and_z", "reach their own elements only", 536);
  AddOptionalOperands(&gate, 536);
  gate.is_D_per_channel = true;
  gate.D = NanWhere(gate.D, [](int64_t idx) { return idx == 5; });
  gate.z = NanWhere(gate.z, [=](int64_t idx) { return idx == 30 * x_token + 1; });
  cases->push_back(gate);

  ScanCase state = RangeCase("nan/initial_state", "reaches its own channel only", 537);
  AddOptionalOperands(&state, 537);
  state.initial_states = NanWhere(state.initial_states, [](int64_t idx) { return idx == 40; });
  cases->push_back(state);

  ScanCase infinite = RangeCase("infinity/x_of_a_token", "infinite from there on", 538);
  const Fill x = infinite.x;
  infinite.x = [=](int64_t idx) { return idx == 70 * x_token + 3 ? kInfinity : x(idx); };
  cases->push_back(infinite);
}

}  // namespace

std::vector<ScanCase> RangeScanCases() {
  std::vector<ScanCase> cases;
  AddDecays(&cases);
  AddSteps(&cases);
  AddValues(&cases);
  AddNan(&cases);
  return cases;
}

}  // namespace tilescan::testing
