#include "testing/workload.h"

#include <cmath>

#include "testing/case.h"
#include "testing/fill.h"

namespace tilescan::testing {
namespace {

// Any seeds do; each operand has its own.
enum Seed : uint64_t { kSeedX = 1, kSeedDt, kSeedA, kSeedB, kSeedC, kSeedStates };

// dt whose softplus is log-uniform in [0.001, 0.1].
Fill LogUniformDt() {
  constexpr double kMinDt = 0.001;
  constexpr double kMaxDt = 0.1;
  return Mapped(Uniform(kSeedDt, std::log(kMinDt), std::log(kMaxDt)),
                [](double log_dt) { return std::log(std::expm1(std::exp(log_dt))); });
}

// What both operations' cases have under the same names.
template <typename Case>
Case CommonCase(const ModelPreset& preset, int64_t batch, const WorkloadDTypes& dtypes) {
  Case common;
  common.name = preset.name;
  common.batch = batch;
  common.nheads = preset.nheads;
  common.headdim = preset.headdim;
  common.ngroups = preset.ngroups;
  common.dstate = preset.dstate;
  common.x_dtype = dtypes.operands;
  common.B_dtype = dtypes.operands;
  common.x = Uniform(kSeedX, -1.0, 1.0);
  common.dt = LogUniformDt();
  common.A = Uniform(kSeedA, -16.0, -1.0);
  common.B = Uniform(kSeedB, -1.0, 1.0);
  common.C = Uniform(kSeedC, -1.0, 1.0);
  common.dt_softplus = true;
  return common;
}

Fill States() { return Uniform(kSeedStates, -0.1, 0.1); }

}  // namespace

ScanOperands ScanWorkload(const ModelPreset& preset, int64_t batch, int64_t seqlen,
                          const WorkloadDTypes& dtypes) {
  auto scan_case = CommonCase<ScanCase>(preset, batch, dtypes);
  scan_case.seqlen = seqlen;
  scan_case.initial_states = States();
  scan_case.initial_states_dtype = dtypes.states;
  scan_case.final_states_dtype = dtypes.states;
  return BuildOperands(scan_case);
}

StateUpdateOperands StateUpdateWorkload(const ModelPreset& preset, int64_t batch,
                                        const WorkloadDTypes& dtypes) {
  auto update_case = CommonCase<StateUpdateCase>(preset, batch, dtypes);
  update_case.C_dtype = dtypes.operands;
  update_case.out_dtype = dtypes.operands;
  update_case.state_dtype = dtypes.states;
  update_case.state = States();
  return BuildOperands(update_case);
}

std::string ScanCaseName(const ModelPreset& preset, int64_t batch, int64_t seqlen) {
  const std::string tokens = std::to_string(seqlen);
  return std::string(preset.name) + "/" +
         (batch == 1 ? tokens : std::to_string(batch) + "x" + tokens);
}

std::string StateUpdateCaseName(const ModelPreset& preset, int64_t batch, bool is_cold) {
  return std::string(preset.name) + "/decode-" + std::to_string(batch) +
         (is_cold ? "/cold" : "/hot");
}

double RecurrenceFlops(const ModelPreset& preset, int64_t num_tokens) {
  return 4.0 * static_cast<double>(num_tokens) * static_cast<double>(preset.nheads) *
         static_cast<double>(preset.headdim) * static_cast<double>(preset.dstate);
}

double StateBytes(const ModelPreset& preset, int64_t batch, DType states) {
  return static_cast<double>(batch) * static_cast<double>(preset.nheads) *
         static_cast<double>(preset.headdim) * static_cast<double>(preset.dstate) *
         static_cast<double>(ElementBytes(states));
}

}  // namespace tilescan::testing
