#include "numerics/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/numerics/rounding_oracle.h"

namespace tilescan::numerics {
namespace {

// 8 significand bits, exponents from -126 to 127.
constexpr FormatOfOracle kFormat{8, -126, 127};

TEST(BFloat16, WideningEveryValueIsExact) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float value = ToFloat(BFloat16{static_cast<uint16_t>(bits)});
    const int exponent = static_cast<int>((bits >> 7) & 0xffu);
    const double mantissa = static_cast<double>(bits & 0x7fu) / 128.0;
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    if (exponent == 0xff) {
      EXPECT_EQ(std::isnan(value), mantissa != 0.0) << bits;
      EXPECT_EQ(std::isinf(value), mantissa == 0.0) << bits;
    } else if (exponent == 0) {
      EXPECT_EQ(value, sign * std::ldexp(mantissa, -126)) << bits;
    } else {
      EXPECT_EQ(value, sign * std::ldexp(1.0 + mantissa, exponent - 127)) << bits;
    }
    EXPECT_EQ(std::signbit(value), sign < 0) << bits;
  }
}

TEST(BFloat16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const BFloat16 value{static_cast<uint16_t>(bits)};
    const BFloat16 back = ToBFloat16(ToFloat(value));
    const bool is_nan = std::isnan(ToFloat(value));
    EXPECT_EQ(back.bits, is_nan ? (bits | 0x0040u) : bits) << bits;
    EXPECT_EQ(ToBFloat16(static_cast<double>(ToFloat(value))).bits, back.bits) << bits;
  }
}

// Around every value and every midpoint between neighbours, from float and from double.
TEST(BFloat16, NarrowingRoundsToNearestEven) {
  for (uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    for (const uint32_t low : {0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float value = std::bit_cast<float>((bits << 16) | low);
      if (std::isnan(value)) continue;
      const double expected = RoundedByOracle(value, kFormat);
      EXPECT_EQ(ToFloat(ToBFloat16(value)), expected) << bits << ' ' << low;
      for (const double towards : {-1e300, 1e300}) {
        const double beside = std::nextafter(static_cast<double>(value), towards);
        EXPECT_EQ(ToFloat(ToBFloat16(beside)), RoundedByOracle(beside, kFormat)) << beside;
      }
    }
  }
}

TEST(BFloat16, ManyFloatsAgreeWithTheOracle) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(ToFloat(ToBFloat16(value)), RoundedByOracle(value, kFormat)) << bits;
  }
}

TEST(BFloat16, TooLargeBecomesInfinity) {
  EXPECT_EQ(ToBFloat16(0x1.fefp127f).bits, 0x7f7f);
  EXPECT_EQ(ToBFloat16(0x1.ffp127f).bits, 0x7f80);
  EXPECT_EQ(ToBFloat16(-0x1.ffp127f).bits, 0xff80);
  EXPECT_EQ(ToBFloat16(1e300).bits, 0x7f80);
  EXPECT_EQ(ToBFloat16(-std::numeric_limits<double>::infinity()).bits, 0xff80);
}

TEST(BFloat16, NanStaysQuietAndKeepsItsSign) {
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0xff800001u)).bits, 0xffc0);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x7fffffffu)).bits, 0x7fff);
  EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(std::nan("")))));
}

}  // namespace
}  // namespace tilescan::numerics
