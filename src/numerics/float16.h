// float16 (IEEE 754 binary16): 1 sign, 5 exponent and 10 mantissa bits.
#ifndef TILESCAN_NUMERICS_FLOAT16_H_
#define TILESCAN_NUMERICS_FLOAT16_H_

#include <bit>
#include <cstdint>

#include "core/host_device.h"
#include "numerics/round_to_odd.h"

namespace tilescan::numerics {

struct Float16 {
  uint16_t bits;
};

// Exact, for every value; a NaN keeps its payload.
TILESCAN_HOST_DEVICE inline float ToFloat(Float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude < 0x0400u) {  // zero or denormal: magnitude * 2^-24
    const float absolute = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(absolute) | sign);
  }
  constexpr uint32_t kBiasDifference = (127u - 15u) << 23;
  constexpr uint32_t kTopExponent = 0xffu << 23;
  const uint32_t shifted = magnitude << 13;
  const uint32_t is_inf_or_nan = magnitude >= 0x7c00u;
  return std::bit_cast<float>(sign |
                              (is_inf_or_nan ? shifted | kTopExponent : shifted + kBiasDifference));
}

// The nearest float16, ties to even, in the whole range of float: at most half an ulp off, 2^-11
// relative where the result is normal (from 2^-14 up). From 65520 up it is infinity. Denormal
// results are rounded the same way (multiples of 2^-24). A NaN stays a quiet NaN of the same sign.
TILESCAN_HOST_DEVICE inline Float16 ToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const auto with_sign = [sign](uint32_t half) {
    return Float16{static_cast<uint16_t>(sign | half)};
  };
  if (magnitude > 0x7f800000u) return with_sign(0x7e00u | ((magnitude >> 13) & 0x03ffu));
  if (magnitude >= 0x47800000u) return with_sign(0x7c00u);  // 65536 and more, infinity
  if (magnitude < 0x38800000u) {                            // below 2^-14
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102u) return with_sign(0);  // below 2^-25: nearer to 0 than to 2^-24
    const uint32_t mantissa = (magnitude & 0x007fffffu) | 0x00800000u;
    const uint32_t shift = 126u - exponent;  // 14..24
    const uint32_t below_half = (1u << (shift - 1u)) - 1u;
    return with_sign((mantissa + below_half + ((mantissa >> shift) & 1u)) >> shift);
  }
  constexpr uint32_t kBiasDifference = (127u - 15u) << 23;
  const uint32_t rounded = magnitude - kBiasDifference + 0x0fffu + ((magnitude >> 13) & 1u);
  return with_sign(rounded >> 13);  // carries into infinity from 65520
}

// As from float, with one rounding only.
TILESCAN_HOST_DEVICE inline Float16 ToFloat16(double value) { return ToFloat16(RoundToOdd(value)); }

}  // namespace tilescan::numerics

#endif  // TILESCAN_NUMERICS_FLOAT16_H_
