// Pseudo-random numbers that depend on a seed and a position only: the same on every platform, in
// any order, for any number of elements.
#ifndef TILESCAN_TESTING_RANDOM_H_
#define TILESCAN_TESTING_RANDOM_H_

#include <cmath>
#include <cstdint>

namespace tilescan::testing {

// 64 random bits: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", 2014) over a counter that a seed displaces.
inline uint64_t RandomBits(uint64_t seed, uint64_t position) {
  const auto mix = [](uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  };
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  return mix(mix(seed * kGoldenGamma + 1) + position * kGoldenGamma);
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double RandomUnit(uint64_t seed, uint64_t position) {
  return static_cast<double>(RandomBits(seed, position) >> 11) * 0x1p-53;
}

// In [2^first_exponent, 2^end_exponent): each octave equally likely, uniform inside it. Stands in
// for a log-uniform draw, whose logarithm would depend on the platform.
inline double RandomOctaves(uint64_t seed, uint64_t position, int first_exponent,
                            int end_exponent) {
  const auto num_octaves = static_cast<uint64_t>(end_exponent - first_exponent);
  const auto octave = static_cast<int>(RandomBits(~seed, position) % num_octaves);
  return std::ldexp(1.0 + RandomUnit(seed, position), first_exponent + octave);
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_RANDOM_H_
