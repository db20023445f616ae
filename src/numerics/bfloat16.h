// bfloat16: 1 sign, 8 exponent and 7 mantissa bits; the upper half of a float.
#ifndef TILESCAN_NUMERICS_BFLOAT16_H_
#define TILESCAN_NUMERICS_BFLOAT16_H_

#include <bit>
#include <cstdint>

#include "core/host_device.h"
#include "numerics/round_to_odd.h"

namespace tilescan::numerics {

struct BFloat16 {
  uint16_t bits;
};

// Exact, for every value; a NaN keeps its payload.
TILESCAN_HOST_DEVICE inline float ToFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// The nearest bfloat16, ties to even, in the whole range of float: at most half an ulp off, 2^-8
// relative where the result is normal. From 2^128 - 2^119 up it is infinity. Denormal results are
// rounded the same way (none is flushed). A NaN stays a quiet NaN of the same sign.
TILESCAN_HOST_DEVICE inline BFloat16 ToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return BFloat16{static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  }
  const uint32_t last_kept_bit = (bits >> 16) & 1u;
  return BFloat16{static_cast<uint16_t>((bits + 0x7fffu + last_kept_bit) >> 16)};
}

// As from float, with one rounding only.
TILESCAN_HOST_DEVICE inline BFloat16 ToBFloat16(double value) {
  return ToBFloat16(RoundToOdd(value));
}

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_BFLOAT16_H_
