// The named cases.
#ifndef TILESCAN_TESTING_CASE_LIST_H_
#define TILESCAN_TESTING_CASE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testing/case.h"

namespace tilescan::testing {

// All of them, in order. Names are unique over both lists.
const std::vector<ScanCase>& ScanCases();
const std::vector<StateUpdateCase>& StateUpdateCases();

// The parts that ScanCases() and StateUpdateCases() are made of.
// Inputs that broke other implementations: "C01/...", each with the property that must hold.
std::vector<ScanCase> FaultScanCases();
std::vector<StateUpdateCase> FaultStateUpdateCases();
// Sizes, dtypes and operands of every kind.
std::vector<ScanCase> ShapeScanCases();
std::vector<ScanCase> OperandScanCases();
// Sequences: packed, by seq_idx, with states on the way.
std::vector<ScanCase> SequenceScanCases();
// Decays and values at the ends of their ranges.
std::vector<ScanCase> RangeScanCases();
std::vector<StateUpdateCase> OwnStateUpdateCases();

struct CaseSizes {
  int64_t batch = 1;
  int64_t seqlen = 1;  // state_update: tokens, 0 for no token dimension
  int64_t nheads = 1;
  int64_t headdim = 1;
  int64_t ngroups = 1;
  int64_t dstate = 1;
};

// "b2_l63_h4_p64_g2_n128".
std::string SizesName(const CaseSizes& sizes);

// Cases of given sizes with the required operands filled at random and the others absent: x, B and
// C uniform in [-1, 1), A in (-8, -0.5], dt such that steps are those of a trained model (2^-10 to
// 2^-3). Different seeds, different numbers.
ScanCase RandomScanCase(std::string name, const CaseSizes& sizes, uint64_t seed);
StateUpdateCase RandomStateUpdateCase(std::string name, const CaseSizes& sizes, uint64_t seed);

// Adds what is optional: dt_bias with softplus, D, z, initial_states.
void AddOptionalOperands(ScanCase* scan_case, uint64_t seed);
void AddOptionalOperands(StateUpdateCase* update_case, uint64_t seed);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CASE_LIST_H_
