// Each instruction of hopper/ptx/arithmetic.h against the CPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hopper/ptx/arithmetic.h"
#include "numerics/bfloat16.h"
#include "testing/random.h"
#include "tests/gpu/gpu.h"

namespace tilescan::testing {
namespace {

using numerics::BFloat16;

constexpr unsigned kThreads = 256;

struct Exp2 {
  using Result = float;
  __device__ static float Of(float a, float, float) { return hopper::ptx::Exp2(a); }
};
struct Reciprocal {
  using Result = float;
  __device__ static float Of(float a, float, float) { return hopper::ptx::Reciprocal(a); }
};
struct RoundPair {
  using Result = uint32_t;
  __device__ static uint32_t Of(float a, float b, float) { return hopper::ptx::RoundPair(a, b); }
};
// Of pairs of bf16 whose second is the first's negative half.
struct MultiplyPairs {
  using Result = uint32_t;
  __device__ static uint32_t Of(float a, float b, float) {
    return hopper::ptx::MultiplyPairs(hopper::ptx::RoundPair(a, -0.5f * a),
                                      hopper::ptx::RoundPair(b, b));
  }
};
struct MultiplyAddPairs {
  using Result = uint32_t;
  __device__ static uint32_t Of(float a, float b, float c) {
    return hopper::ptx::MultiplyAddPairs(hopper::ptx::RoundPair(a, -0.5f * a),
                                         hopper::ptx::RoundPair(b, b),
                                         hopper::ptx::RoundPair(c, c));
  }
};
struct UnpackedSum {
  using Result = float;
  __device__ static float Of(float a, float b, float) {
    const uint32_t pair = hopper::ptx::RoundPair(a, b);
    return hopper::ptx::FirstOf(pair) - 2.0f * hopper::ptx::SecondOf(pair);
  }
};
struct Forgotten {
  using Result = int32_t;
  __device__ static int32_t Of(float a, float, float) {
    int32_t value = __float_as_int(a);
    hopper::ptx::Forget(value);
    return value;
  }
};
// Each lane has another value; all get that of the warp's first lane.
struct UniformBits {
  using Result = int32_t;
  __device__ static int32_t Of(float a, float, float) {
    return hopper::ptx::Uniform(__float_as_int(a));
  }
};

template <typename Operation>
__global__ void ApplyKernel(const float* a, const float* b, const float* c,
                            typename Operation::Result* results) {
  const size_t idx = blockIdx.x * size_t{kThreads} + threadIdx.x;
  results[idx] = Operation::Of(a[idx], b[idx], c[idx]);
}

// As many numbers of each as fill blocks.
template <typename Operation>
std::vector<typename Operation::Result> Apply(const std::vector<float>& a,
                                              const std::vector<float>& b,
                                              const std::vector<float>& c) {
  EXPECT_EQ(a.size() % kThreads, 0u);
  const DeviceArray<float> a_there(a), b_there(b), c_there(c);
  const DeviceArray<typename Operation::Result> results(a.size());
  ApplyKernel<Operation><<<static_cast<unsigned>(a.size() / kThreads), kThreads>>>(
      a_there.data(), b_there.data(), c_there.data(), results.data());
  return results.Download();
}

// Numbers of both signs and many magnitudes, and every kind of special one.
std::vector<float> Numbers(uint64_t seed, double least_exponent, double most_exponent) {
  constexpr size_t kCount = 1 << 16;
  std::vector<float> numbers;
  for (size_t idx = 0; idx < kCount; ++idx) {
    const double exponent =
        least_exponent + (most_exponent - least_exponent) * RandomUnit(seed, 2 * idx);
    const double sign = RandomUnit(seed, 2 * idx + 1) < 0.5 ? -1.0 : 1.0;
    numbers.push_back(static_cast<float>(sign * std::exp2(exponent)));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  const float specials[] = {0.0f,
                            -0.0f,
                            1.0f,
                            infinity,
                            -infinity,
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min()};
  for (size_t idx = 0; idx < std::size(specials); ++idx) numbers[97 * idx] = specials[idx];
  return numbers;
}

float FirstOf(uint32_t pair) { return ToFloat(BFloat16{static_cast<uint16_t>(pair)}); }
float SecondOf(uint32_t pair) { return ToFloat(BFloat16{static_cast<uint16_t>(pair >> 16)}); }
double Rounded(double value) { return ToFloat(numerics::ToBFloat16(value)); }

// Equal, zeros of one sign, or both NaN.
void ExpectSame(float got, double expected, size_t idx) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << "at " << idx;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(static_cast<float>(expected)))
        << got << " instead of " << expected << " at " << idx;
  }
}

using PtxArithmetic = HopperTest;

TEST_F(PtxArithmetic, ReciprocalIsWithin1Ulp) {
  const std::vector<float> values = Numbers(7, -125, 125);
  const std::vector<float> results = Apply<Reciprocal>(values, values, values);
  for (size_t idx = 0; idx < values.size(); ++idx) {
    const double value = values[idx];
    const double expected = 1.0 / value;
    if (!std::isnormal(values[idx]) || std::abs(value) > 0x1p126) {
      // Denormal values count as 0, and denormal results become it.
      const double flushed = std::abs(value) > 0x1p126 && std::isfinite(value)
                                 ? std::copysign(0.0, value)
                             : std::fpclassify(values[idx]) == FP_SUBNORMAL
                                 ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                 : expected;
      ExpectSame(results[idx], flushed, idx);
      continue;
    }
    EXPECT_LE(std::abs(results[idx] - expected), 0x1p-23 * std::abs(expected))
        << "1 / " << value << " at " << idx;
  }
}

TEST_F(PtxArithmetic, Exp2IsWithin2Ulp) {
  std::vector<float> values = Numbers(1, -30, 7);
  values[1] = 127.99f;
  values[2] = 128.0f;
  values[3] = -126.0f;
  values[4] = -126.5f;
  values[5] = -1000.0f;
  const std::vector<float> results = Apply<Exp2>(values, values, values);
  for (size_t idx = 0; idx < values.size(); ++idx) {
    const double expected = std::exp2(static_cast<double>(values[idx]));
    const double smallest = std::numeric_limits<float>::min();
    if (std::isnan(expected) || expected > std::numeric_limits<float>::max()) {
      ExpectSame(results[idx], expected, idx);
    } else if (expected < smallest) {
      // Near the border a rounding may leave the smallest normal number.
      EXPECT_TRUE(results[idx] == 0.0f || expected > 0.999999 * smallest) << values[idx];
    } else {
      const double ulp = std::exp2(std::floor(std::log2(expected)) - 23);
      EXPECT_NEAR(results[idx], expected, 2 * ulp) << values[idx];
    }
  }
}

TEST_F(PtxArithmetic, RoundPair) {
  std::vector<float> first = Numbers(2, -140, 128);
  const std::vector<float> second = Numbers(3, -140, 128);
  // Ties: halfway between two bf16, to either side.
  for (uint32_t idx = 0; idx < 256; ++idx) {
    first[1000 + idx] = std::bit_cast<float>(0x3f808000u + (idx << 16));
  }
  const std::vector<uint32_t> pairs = Apply<RoundPair>(first, second, first);
  for (size_t idx = 0; idx < pairs.size(); ++idx) {
    ExpectSame(FirstOf(pairs[idx]), ToFloat(numerics::ToBFloat16(first[idx])), idx);
    ExpectSame(SecondOf(pairs[idx]), ToFloat(numerics::ToBFloat16(second[idx])), idx);
  }
}

TEST_F(PtxArithmetic, MultiplyPairs) {
  const std::vector<float> a = Numbers(4, -60, 60);
  const std::vector<float> b = Numbers(5, -60, 60);
  const std::vector<uint32_t> pairs = Apply<MultiplyPairs>(a, b, a);
  for (size_t idx = 0; idx < pairs.size(); ++idx) {
    const double factor = Rounded(b[idx]);
    ExpectSame(FirstOf(pairs[idx]), Rounded(Rounded(a[idx]) * factor), idx);
    ExpectSame(SecondOf(pairs[idx]), Rounded(Rounded(-0.5f * a[idx]) * factor), idx);
  }
}

// Exponents so near each other that a double holds a b + c exactly.
TEST_F(PtxArithmetic, MultiplyAddPairsRoundsOnce) {
  const std::vector<float> a = Numbers(6, -4, 4);
  const std::vector<float> b = Numbers(7, -4, 4);
  const std::vector<float> c = Numbers(8, -10, 10);
  const std::vector<uint32_t> pairs = Apply<MultiplyAddPairs>(a, b, c);
  for (size_t idx = 0; idx < pairs.size(); ++idx) {
    const double factor = Rounded(b[idx]);
    const double addend = Rounded(c[idx]);
    ExpectSame(FirstOf(pairs[idx]), Rounded(Rounded(a[idx]) * factor + addend), idx);
    ExpectSame(SecondOf(pairs[idx]), Rounded(Rounded(-0.5f * a[idx]) * factor + addend), idx);
  }
}

TEST_F(PtxArithmetic, FirstOfAndSecondOf) {
  const std::vector<float> a = Numbers(9, -10, 10);
  const std::vector<float> b = Numbers(10, -10, 10);
  const std::vector<float> sums = Apply<UnpackedSum>(a, b, a);
  for (size_t idx = 0; idx < sums.size(); ++idx) {
    ExpectSame(sums[idx],
               static_cast<float>(Rounded(a[idx])) - 2.0f * static_cast<float>(Rounded(b[idx])),
               idx);
  }
}

TEST_F(PtxArithmetic, ForgetKeepsTheValue) {
  const std::vector<float> values = Numbers(11, -140, 128);
  const std::vector<int32_t> results = Apply<Forgotten>(values, values, values);
  for (size_t idx = 0; idx < values.size(); ++idx) {
    EXPECT_EQ(results[idx], std::bit_cast<int32_t>(values[idx]));
  }
}

TEST_F(PtxArithmetic, UniformIsTheFirstLanes) {
  const std::vector<float> values = Numbers(12, -140, 128);
  const std::vector<int32_t> results = Apply<UniformBits>(values, values, values);
  for (size_t idx = 0; idx < values.size(); ++idx) {
    EXPECT_EQ(results[idx], std::bit_cast<int32_t>(values[idx / 32 * 32]));
  }
}

}  // namespace
}  // namespace tilescan::testing
