// What an output is held against: the float64 recurrence, and the scale of its terms; and what an
// honest run in the operands' own precision makes of the same problem.
#ifndef TILESCAN_TESTING_TRUTH_H_
#define TILESCAN_TESTING_TRUTH_H_

#include "testing/operands.h"

namespace tilescan::testing {

// The outputs are those of the reference (of the scan: its recurrence), computed and kept in
// float64 from the operands as they are (already rounded to their dtypes). Runs through the public
// interface. Aborts the program if that fails: without a truth there is no test. Of
// split_conv1d_scan: its parts one after another, with nothing rounded between them.
ScanOperands Truth(const ScanOperands& operands);
StateUpdateOperands Truth(const StateUpdateOperands& operands);
ConvOperands Truth(const ConvOperands& operands);
ConvUpdateOperands Truth(const ConvUpdateOperands& operands);
NormOperands Truth(const NormOperands& operands);
SplitOperands Truth(const SplitOperands& operands);

// Each output is a sum of terms; its magnitude is the sum of their absolute values, got by running
// the reference on |x|, |B|, |C|, |D| and |states|. Rounding errors of any order of summation are
// bounded by a small multiple of unit roundoff times it (Higham, "Accuracy and Stability of
// Numerical Algorithms", 2002, chapter 3); relative to the sum itself they are not. Outputs are
// absent where dt may be negative, because then terms of the states have both signs.
ScanOperands Magnitudes(const ScanOperands& operands);
StateUpdateOperands Magnitudes(const StateUpdateOperands& operands);
ConvOperands Magnitudes(const ConvOperands& operands);
ConvUpdateOperands Magnitudes(const ConvUpdateOperands& operands);
NormOperands Magnitudes(const NormOperands& operands);
SplitOperands Magnitudes(const SplitOperands& operands);

// The operation token by token with every arithmetic operation rounded to float32, outputs rounded
// to their dtypes: the plainest way to compute in the precision that the library promises. Of
// split_conv1d_scan: its parts one after another.
ScanOperands HonestRun(const ScanOperands& operands);
StateUpdateOperands HonestRun(const StateUpdateOperands& operands);
ConvOperands HonestRun(const ConvOperands& operands);
ConvUpdateOperands HonestRun(const ConvUpdateOperands& operands);
NormOperands HonestRun(const NormOperands& operands);
SplitOperands HonestRun(const SplitOperands& operands);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_TRUTH_H_
