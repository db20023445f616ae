// What the lists of cases of the operations around the scan are made with.
#ifndef TILESCAN_TESTING_LAYER_CASES_H_
#define TILESCAN_TESTING_LAYER_CASES_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/dtype.h"

namespace tilescan::testing {

inline constexpr DType kFloatDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// Half of the last of 12 places, and the rounding of a sum in float64.
inline constexpr double kDigits = 6e-13;

// Every operand's numbers have a seed of their own.
enum class LayerStream : uint64_t { kX, kWeight, kBias, kStates, kZ, kNumStreams };
inline uint64_t SeedOf(uint64_t seed, LayerStream stream) {
  return seed * static_cast<uint64_t>(LayerStream::kNumStreams) + static_cast<uint64_t>(stream);
}

// "prefix/2_16_8/float32".
inline std::string Named(const std::string& prefix, std::initializer_list<int64_t> sizes,
                         DType dtype) {
  std::string name = prefix;
  const char* separator = "/";
  for (const int64_t size : sizes) {
    name += separator + std::to_string(size);
    separator = "_";
  }
  return name + "/" + DTypeName(dtype);
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_LAYER_CASES_H_
