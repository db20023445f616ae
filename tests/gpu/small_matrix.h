// Products of matrices of small integers, which bf16 and sums in fp32 hold exactly.
#ifndef TILESCAN_TESTS_GPU_SMALL_MATRIX_H_
#define TILESCAN_TESTS_GPU_SMALL_MATRIX_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "testing/random.h"

namespace tilescan::testing {

// In [-8, 8].
inline std::vector<float> SmallIntegers(size_t count, uint64_t seed) {
  std::vector<float> numbers;
  for (size_t idx = 0; idx < count; ++idx) {
    numbers.push_back(static_cast<float>(std::floor(17.0 * RandomUnit(seed, idx)) - 8.0));
  }
  return numbers;
}

struct ProductSizes {
  size_t rows, columns, inner;
};

// D + A B; A (rows, inner), B (inner, columns), D (rows, columns), row-major.
inline std::vector<float> MultiplyAdd(const ProductSizes& sizes, const std::vector<float>& A,
                                      const std::vector<float>& B, std::vector<float> D) {
  for (size_t row = 0; row < sizes.rows; ++row) {
    for (size_t column = 0; column < sizes.columns; ++column) {
      for (size_t idx = 0; idx < sizes.inner; ++idx) {
        D[row * sizes.columns + column] +=
            A[row * sizes.inner + idx] * B[idx * sizes.columns + column];
      }
    }
  }
  return D;
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTS_GPU_SMALL_MATRIX_H_
