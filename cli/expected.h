// Compares outputs with the values that a file says they should have.
#ifndef TILESCAN_CLI_EXPECTED_H_
#define TILESCAN_CLI_EXPECTED_H_

#include <string>
#include <vector>

#include "cli/operands.h"
#include "cli/safetensors.h"

namespace tilescan::cli {

struct Difference {
  std::string name;            // of the output
  double relative_l2 = 0.0;    // |actual - expected| / |expected|, Euclidean norms
  double max_abs_error = 0.0;  // the largest |actual - expected|
};

// actual and expected are compact, of floats and of one shape. Where a value is not finite and the
// other differs, both figures are infinite.
Difference Compare(const std::string& name, const tilescan_tensor& actual,
                   const tilescan_tensor& expected);

// Before a run: throws Error if a tensor "expected_NAME" of the file belongs to an output that is
// not computed, has another shape, or is no float.
void CheckExpected(SafetensorsFile* file, OperationArgs* args);

// A difference for each tensor "expected_NAME" of the file.
std::vector<Difference> CompareWithExpected(SafetensorsFile* file,
                                            const std::vector<NamedTensor>& outputs);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_EXPECTED_H_
