// How far an output is from the truth.
#ifndef TILESCAN_TESTING_COMPARE_H_
#define TILESCAN_TESTING_COMPARE_H_

#include <cstdint>
#include <string>

#include "testing/host_tensor.h"

namespace tilescan::testing {

struct Comparison {
  int64_t num_compared = 0;  // elements that are finite in both
  // An element that is finite where the truth, rounded to the output's dtype, is not, or the
  // reverse. Never all right; -1 when there is none. Infinity and NaN count as one: a sum of
  // infinities of both signs is either, by the order of its terms.
  int64_t first_mismatch_idx = -1;
  int64_t num_mismatches = 0;

  double max_abs = 0.0;       // the largest |error|
  double max_relative = 0.0;  // max_abs / the largest |truth|
  double relative_l2 = 0.0;   // |error| / |truth|, as vectors
  double nmse = 0.0;          // relative_l2 squared
  // The largest |error| / magnitude, over elements: see Magnitudes() in testing/truth.h. It sees
  // an error in a small element that the other figures drown in large ones.
  double max_scaled = 0.0;
  int64_t worst_idx = -1;  // where max_scaled is
};

// got and truth have one shape. magnitude: as truth, or absent: the largest |truth| for all.
// Elements before first_idx (row-major) do not count.
Comparison Compare(const HostTensor& got, const HostTensor& truth, const HostTensor& magnitude,
                   int64_t first_idx = 0);

// "(1, 0, 3)" of a row-major index.
std::string IndexText(const HostTensor& tensor, int64_t idx);

// The error of rounding to a dtype once, relative to a normal number: 2^-24 for float32.
double UnitRoundoff(DType dtype);
// The smallest normal number of a dtype: below it errors are absolute.
double SmallestNormal(DType dtype);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_COMPARE_H_
