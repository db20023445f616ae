// The named cases.
#ifndef TILESCAN_TESTING_CASE_LIST_H_
#define TILESCAN_TESTING_CASE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testing/case.h"

namespace tilescan::testing {

// All of them, in order. Names are unique over all lists.
const std::vector<ScanCase>& ScanCases();
const std::vector<StateUpdateCase>& StateUpdateCases();
const std::vector<ConvCase>& ConvCases();
const std::vector<ConvUpdateCase>& ConvUpdateCases();
const std::vector<NormCase>& NormCases();
const std::vector<SplitCase>& SplitCases();

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

// The operations around the scan. num_tokens and seqlen 0: no token dimension.
ConvCase RandomConvCase(std::string name, int64_t batch, int64_t seqlen, int64_t dim,
                        uint64_t seed);
ConvUpdateCase RandomConvUpdateCase(std::string name, int64_t batch, int64_t num_tokens,
                                    int64_t dim, uint64_t seed);
NormCase RandomNormCase(std::string name, int64_t batch, int64_t seqlen, int64_t dim,
                        uint64_t seed);
SplitCase RandomSplitCase(std::string name, const CaseSizes& sizes, uint64_t seed);

// Adds what is optional: dt_bias with softplus, D, z, initial_states.
void AddOptionalOperands(ScanCase* scan_case, uint64_t seed);
void AddOptionalOperands(StateUpdateCase* update_case, uint64_t seed);
// bias, silu, initial_states; bias, silu; bias, z.
void AddOptionalOperands(ConvCase* conv_case, uint64_t seed);
void AddOptionalOperands(ConvUpdateCase* update_case, uint64_t seed);
void AddOptionalOperands(NormCase* norm_case, uint64_t seed);
// All that no other excludes: weights, initial states, silu, softplus.
void AddOptionalOperands(SplitCase* split_case, uint64_t seed);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CASE_LIST_H_
