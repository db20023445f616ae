#include "cli/expected.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/operands.h"

namespace tilescan::cli {
namespace {

bool IsFloat(const tilescan_dtype& dtype) {
  return dtype.code == TILESCAN_DTYPE_FLOAT || dtype.code == TILESCAN_DTYPE_BFLOAT;
}

bool SameShape(const tilescan_tensor& left, const tilescan_tensor& right) {
  return left.ndim == right.ndim && std::equal(left.shape, left.shape + left.ndim, right.shape);
}

}  // namespace

Difference Compare(const std::string& name, const tilescan_tensor& actual,
                   const tilescan_tensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const int64_t num_elements = *TensorBytes(actual) / ElementBytes(actual.dtype);
  double sum_of_squares = 0.0;
  double sum_of_squared_errors = 0.0;
  double max_abs_error = 0.0;
  for (int64_t idx = 0; idx < num_elements; ++idx) {
    const double actual_value = FloatAt(actual, idx);
    const double expected_value = FloatAt(expected, idx);
    if (!std::isfinite(actual_value) || !std::isfinite(expected_value)) {
      if (std::isfinite(actual_value) || std::isfinite(expected_value)) {
        return {name, kInfinity, kInfinity};
      }
      continue;
    }
    const double error = std::fabs(actual_value - expected_value);
    sum_of_squares += expected_value * expected_value;
    sum_of_squared_errors += error * error;
    max_abs_error = std::max(max_abs_error, error);
  }
  if (sum_of_squared_errors == 0.0) return {name, 0.0, max_abs_error};
  return {name, std::sqrt(sum_of_squared_errors / sum_of_squares), max_abs_error};
}

void CheckExpected(SafetensorsFile* file, OperationArgs* args) {
  for (const Operand& output : OutputOperands(args)) {
    const tilescan_tensor expected = file->Tensor(kExpectedPrefix + output.name);
    if (!IsPresent(expected)) continue;
    const std::string where = Concat(file->path(), ": ", kExpectedPrefix, output.name);
    if (!IsPresent(*output.tensor)) {
      throw Error(Concat(where, ": ", output.name, " is not computed with these options"));
    }
    if (!IsFloat(expected.dtype)) {
      throw Error(
          Concat(where, " has dtype ", FindDType(expected.dtype)->name, ", expected a float"));
    }
    if (!SameShape(expected, *output.tensor)) {
      throw Error(Concat(where, " has shape ", ShapeText(expected), ", but ", output.name, " has ",
                         ShapeText(*output.tensor)));
    }
  }
}

std::vector<Difference> CompareWithExpected(SafetensorsFile* file,
                                            const std::vector<NamedTensor>& outputs) {
  std::vector<Difference> differences;
  for (const NamedTensor& output : outputs) {
    const tilescan_tensor expected = file->Tensor(kExpectedPrefix + output.name);
    if (IsPresent(expected)) differences.push_back(Compare(output.name, output.tensor, expected));
  }
  return differences;
}

}  // namespace tilescan::cli
