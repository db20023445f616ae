#include "numerics/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/numerics/rounding_oracle.h"

namespace tilescan::numerics {
namespace {

// 11 significand bits, exponents from -14 to 15.
constexpr FormatOfOracle kFormat{11, -14, 15};

float MidpointAbove(uint32_t bits) {
  const float low = ToFloat(Float16{static_cast<uint16_t>(bits)});
  const float high =
      bits == 0x7bffu ? 65536.0f : ToFloat(Float16{static_cast<uint16_t>(bits + 1u)});
  return 0.5f * low + 0.5f * high;
}

TEST(Float16, WideningEveryValueIsExact) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float value = ToFloat(Float16{static_cast<uint16_t>(bits)});
    const int exponent = static_cast<int>((bits >> 10) & 0x1fu);
    const double mantissa = static_cast<double>(bits & 0x3ffu) / 1024.0;
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    if (exponent == 0x1f) {
      EXPECT_EQ(std::isnan(value), mantissa != 0.0) << bits;
      EXPECT_EQ(std::isinf(value), mantissa == 0.0) << bits;
    } else if (exponent == 0) {
      EXPECT_EQ(value, sign * std::ldexp(mantissa, -14)) << bits;
    } else {
      EXPECT_EQ(value, sign * std::ldexp(1.0 + mantissa, exponent - 15)) << bits;
    }
    EXPECT_EQ(std::signbit(value), sign < 0) << bits;
  }
}

TEST(Float16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const Float16 value{static_cast<uint16_t>(bits)};
    const Float16 back = ToFloat16(ToFloat(value));
    const bool is_nan = std::isnan(ToFloat(value));
    EXPECT_EQ(back.bits, is_nan ? (bits | 0x0200u) : bits) << bits;
    EXPECT_EQ(ToFloat16(static_cast<double>(ToFloat(value))).bits, back.bits) << bits;
  }
}

// Every value's upper midpoint, and what lies beside it, from float and from double; both signs.
TEST(Float16, NarrowingRoundsToNearestEven) {
  for (uint32_t bits = 0; bits <= 0x7bffu; ++bits) {
    const float midpoint = MidpointAbove(bits);
    for (const float sign : {1.0f, -1.0f}) {
      for (const float towards : {0.0f, 1e30f}) {
        const float beside = sign * std::nextafterf(midpoint, towards);
        EXPECT_EQ(ToFloat(ToFloat16(beside)), RoundedByOracle(beside, kFormat)) << beside;
        const double close = sign * std::nextafter(static_cast<double>(midpoint), towards);
        EXPECT_EQ(ToFloat(ToFloat16(close)), RoundedByOracle(close, kFormat)) << close;
      }
      const float tie = sign * midpoint;
      EXPECT_EQ(ToFloat(ToFloat16(tie)), RoundedByOracle(tie, kFormat)) << tie;
      EXPECT_EQ(ToFloat16(tie).bits & 1u, 0u) << "a tie goes to the even neighbour: " << tie;
    }
  }
}

TEST(Float16, ManyFloatsAgreeWithTheOracle) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    const Float16 rounded = ToFloat16(value);
    ASSERT_EQ(ToFloat(rounded), RoundedByOracle(value, kFormat)) << bits;
    ASSERT_EQ(std::signbit(ToFloat(rounded)), std::signbit(value)) << bits;
  }
}

TEST(Float16, TooLargeBecomesInfinity) {
  EXPECT_EQ(ToFloat16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(ToFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToFloat16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(ToFloat16(1e300).bits, 0x7c00);
  EXPECT_EQ(ToFloat16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(Float16, NanStaysQuietAndKeepsItsSign) {
  EXPECT_EQ(ToFloat16(std::bit_cast<float>(0x7f800001u)).bits, 0x7e00);
  EXPECT_EQ(ToFloat16(std::bit_cast<float>(0xff800001u)).bits, 0xfe00);
  EXPECT_EQ(ToFloat16(std::bit_cast<float>(0x7fffffffu)).bits, 0x7fff);
  EXPECT_TRUE(std::isnan(ToFloat(ToFloat16(std::nan("")))));
}

}  // namespace
}  // namespace tilescan::numerics
