#include "testing/compare.h"

#include <algorithm>
#include <cmath>

namespace tilescan::testing {
namespace {

double LargestFinite(const HostTensor& tensor, int64_t first_idx) {
  double largest = 0.0;
  for (int64_t idx = first_idx; idx < tensor.num_elements(); ++idx) {
    const double value = std::fabs(tensor.Get(idx));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

double Ratio(double error, double scale) {
  if (error == 0.0) return 0.0;
  return scale == 0.0 ? INFINITY : error / scale;
}

}  // namespace

double UnitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kFloat32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-14;
    case DType::kFloat32:
    case DType::kBFloat16:
      return 0x1p-126;
    default:
      return 0x1p-1022;
  }
}

Comparison Compare(const HostTensor& got, const HostTensor& truth, const HostTensor& magnitude,
                   int64_t first_idx) {
  Comparison comparison;
  HostTensor rounded(got.dtype(), {1});
  const double largest = LargestFinite(truth, first_idx);
  double sum_error = 0.0;
  double sum_truth = 0.0;
  for (int64_t idx = first_idx; idx < got.num_elements(); ++idx) {
    const double value = got.Get(idx);
    const double exact = truth.Get(idx);
    rounded.Set(0, exact);
    if (std::isfinite(value) != std::isfinite(rounded.Get(0))) {
      if (comparison.num_mismatches == 0) comparison.first_mismatch_idx = idx;
      ++comparison.num_mismatches;
      continue;
    }
    if (!std::isfinite(value)) continue;
    ++comparison.num_compared;
    const double error = std::fabs(value - exact);
    sum_error += error * error;
    sum_truth += exact * exact;
    comparison.max_abs = std::max(comparison.max_abs, error);
    const double scale = magnitude.present() ? magnitude.Get(idx) : largest;
    const double scaled = Ratio(error, scale + SmallestNormal(got.dtype()));
    if (scaled > comparison.max_scaled) {
      comparison.max_scaled = scaled;
      comparison.worst_idx = idx;
    }
  }
  comparison.max_relative = Ratio(comparison.max_abs, largest);
  comparison.nmse = Ratio(sum_error, sum_truth);
  comparison.relative_l2 = std::sqrt(comparison.nmse);
  return comparison;
}

std::string IndexText(const HostTensor& tensor, int64_t idx) {
  std::string text;
  for (size_t dim = tensor.shape().size(); dim-- > 0;) {
    const int64_t size = std::max<int64_t>(tensor.shape()[dim], 1);
    text = std::to_string(idx % size) + (text.empty() ? "" : ", " + text);
    idx /= size;
  }
  return "(" + text + ")";
}

}  // namespace tilescan::testing
