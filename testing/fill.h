// What an operand holds, element by element. A Fill maps an element's row-major index to its value,
// which is then rounded to the operand's dtype. An empty Fill stands for an absent operand.
#ifndef TILESCAN_TESTING_FILL_H_
#define TILESCAN_TESTING_FILL_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "testing/random.h"

namespace tilescan::testing {

using Fill = std::function<double(int64_t idx)>;

inline Fill Constant(double value) {
  return [value](int64_t) { return value; };
}

// Uniform in [low, high).
inline Fill Uniform(uint64_t seed, double low, double high) {
  return [=](int64_t idx) {
    return low + (high - low) * RandomUnit(seed, static_cast<uint64_t>(idx));
  };
}

// From 2^first_exponent up to 2^end_exponent.
inline Fill Octaves(uint64_t seed, int first_exponent, int end_exponent) {
  return [=](int64_t idx) {
    return RandomOctaves(seed, static_cast<uint64_t>(idx), first_exponent, end_exponent);
  };
}

// sin(k + 0.7310585 * idx).
inline Fill Sine(double k) {
  return [k](int64_t idx) { return std::sin(k + 0.7310585 * static_cast<double>(idx)); };
}

// The values given, from the first again behind the last.
inline Fill Repeat(std::vector<double> values) {
  return [values = std::move(values)](int64_t idx) {
    return values[static_cast<size_t>(idx) % values.size()];
  };
}

// What make(fill(idx)) gives.
inline Fill Mapped(Fill fill, std::function<double(double)> make) {
  return [fill = std::move(fill), make = std::move(make)](int64_t idx) { return make(fill(idx)); };
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_FILL_H_
