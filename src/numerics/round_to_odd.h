// Narrowing a double through float without rounding twice.
#ifndef TILESCAN_NUMERICS_ROUND_TO_ODD_H_
#define TILESCAN_NUMERICS_ROUND_TO_ODD_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace tilescan::numerics {

// value where float holds it exactly, else that of its two neighbours among the floats whose last
// mantissa bit is 1 (beyond the range: the largest finite float). Rounding the result to nearest in
// a format of at least two bits less equals rounding value itself (Boldo and Melquiond, "Emulation
// of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
// A NaN stays a NaN.
TILESCAN_HOST_DEVICE inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double nearest_value = nearest;
  if (nearest_value == value || std::isnan(value)) return nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 1u) == 1u) return nearest;
  const bool is_too_large = std::fabs(nearest_value) > std::fabs(value);
  return std::bit_cast<float>(is_too_large ? bits - 1u : bits + 1u);
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_ROUND_TO_ODD_H_
