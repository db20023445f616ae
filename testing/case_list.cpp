#include "testing/case_list.h"

#include <utility>

namespace tilescan::testing {
namespace {

template <typename Case>
void Append(std::vector<Case> part, std::vector<Case>* list) {
  for (Case& item : part) list->push_back(std::move(item));
}

// Every operand's numbers have a seed of their own.
enum Stream : uint64_t { kX, kDt, kA, kB, kC, kD, kZ, kDtBias, kStates, kNumStreams };
uint64_t SeedOf(uint64_t seed, Stream stream) { return seed * kNumStreams + stream; }

template <typename Case>
void FillRequired(const CaseSizes& sizes, uint64_t seed, Case* filled) {
  filled->batch = sizes.batch;
  filled->nheads = sizes.nheads;
  filled->headdim = sizes.headdim;
  filled->ngroups = sizes.ngroups;
  filled->dstate = sizes.dstate;
  filled->x = Uniform(SeedOf(seed, kX), -1.0, 1.0);
  filled->dt = Octaves(SeedOf(seed, kDt), -10, -3);
  filled->A = Uniform(SeedOf(seed, kA), -8.0, -0.5);
  filled->B = Uniform(SeedOf(seed, kB), -1.0, 1.0);
  filled->C = Uniform(SeedOf(seed, kC), -1.0, 1.0);
}

template <typename Case>
void FillOptional(uint64_t seed, Case* filled) {
  filled->dt_softplus = true;
  // softplus(dt + dt_bias) from 0.001 to 0.1.
  filled->dt = Uniform(SeedOf(seed, kDt), -1.0, 1.0);
  filled->dt_bias = Uniform(SeedOf(seed, kDtBias), -6.0, -3.0);
  filled->D = Uniform(SeedOf(seed, kD), -1.0, 1.0);
  filled->z = Uniform(SeedOf(seed, kZ), -3.0, 3.0);
}

}  // namespace

std::string SizesName(const CaseSizes& sizes) {
  return "b" + std::to_string(sizes.batch) + "_l" + std::to_string(sizes.seqlen) + "_h" +
         std::to_string(sizes.nheads) + "_p" + std::to_string(sizes.headdim) + "_g" +
         std::to_string(sizes.ngroups) + "_n" + std::to_string(sizes.dstate);
}

ScanCase RandomScanCase(std::string name, const CaseSizes& sizes, uint64_t seed) {
  ScanCase scan_case;
  scan_case.name = std::move(name);
  scan_case.seqlen = sizes.seqlen;
  FillRequired(sizes, seed, &scan_case);
  return scan_case;
}

StateUpdateCase RandomStateUpdateCase(std::string name, const CaseSizes& sizes, uint64_t seed) {
  StateUpdateCase update_case;
  update_case.name = std::move(name);
  update_case.num_tokens = sizes.seqlen;
  FillRequired(sizes, seed, &update_case);
  update_case.state = Uniform(SeedOf(seed, kStates), -1.0, 1.0);
  return update_case;
}

void AddOptionalOperands(ScanCase* scan_case, uint64_t seed) {
  FillOptional(seed, scan_case);
  scan_case->initial_states = Uniform(SeedOf(seed, kStates), -1.0, 1.0);
}

void AddOptionalOperands(StateUpdateCase* update_case, uint64_t seed) {
  FillOptional(seed, update_case);
}

const std::vector<ScanCase>& ScanCases() {
  static const std::vector<ScanCase> cases = [] {
    std::vector<ScanCase> list = FaultScanCases();
    Append(ShapeScanCases(), &list);
    Append(OperandScanCases(), &list);
    Append(SequenceScanCases(), &list);
    Append(RangeScanCases(), &list);
    return list;
  }();
  return cases;
}

const std::vector<StateUpdateCase>& StateUpdateCases() {
  static const std::vector<StateUpdateCase> cases = [] {
    std::vector<StateUpdateCase> list = FaultStateUpdateCases();
    Append(OwnStateUpdateCases(), &list);
    return list;
  }();
  return cases;
}

}  // namespace tilescan::testing
