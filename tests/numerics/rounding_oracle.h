// Rounding to a binary format by its definition, in double arithmetic: what the bit manipulations
// of src/numerics are held against.
#ifndef TILESCAN_TESTS_NUMERICS_ROUNDING_ORACLE_H_
#define TILESCAN_TESTS_NUMERICS_ROUNDING_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescan::numerics {

struct FormatOfOracle {
  int significand_bits;  // with the leading one
  int min_exponent;      // of the smallest normal number
  int max_exponent;
};

// value must not be NaN. The quotient by the format's spacing at value, and the product back, are
// exact: both are powers of two.
inline double RoundedByOracle(double value, const FormatOfOracle& format) {
  if (value == 0.0 || std::isinf(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const int spacing = exponent - (format.significand_bits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -spacing)), spacing);
  const double end_of_range = std::ldexp(1.0, format.max_exponent + 1);
  if (std::fabs(rounded) < end_of_range) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_TESTS_NUMERICS_ROUNDING_ORACLE_H_
