#include "bench/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "testing/compare.h"
#include "testing/truth.h"

namespace tilescan::bench {
namespace {

using testing::HostTensor;
using testing::ScanOperands;

// Some indices of one dimension, and the first of the batch where there is one: dim is 0 only for
// tensors without batch.
HostTensor Pick(const HostTensor& tensor, int dim, const std::vector<int64_t>& indices) {
  std::vector<int64_t> shape = tensor.shape();
  const auto size = [&](int first, int end) {
    int64_t product = 1;
    for (int idx = first; idx < end; ++idx) product *= shape[static_cast<size_t>(idx)];
    return product;
  };
  const int64_t num_outer = size(std::min(1, dim), dim);
  const int64_t num_indices = size(dim, dim + 1);
  const int64_t num_inner = size(dim + 1, static_cast<int>(shape.size()));
  shape[0] = 1;
  shape[static_cast<size_t>(dim)] = std::ssize(indices);
  HostTensor picked(tensor.dtype(), shape);
  int64_t to = 0;
  for (int64_t outer = 0; outer < num_outer; ++outer) {
    for (const int64_t idx : indices) {
      const int64_t from = (outer * num_indices + idx) * num_inner;
      for (int64_t inner = 0; inner < num_inner; ++inner) {
        picked.SetBits(to, tensor.Bits(from + inner));
        ++to;
      }
    }
  }
  return picked;
}

}  // namespace

Errors ErrorsOnPart(const std::string& what, const ScanOperands& operands, const HostTensor& out,
                    const HostTensor& final_states) {
  const int64_t nheads = operands.x.shape()[2];
  const int64_t heads_a_group = nheads / operands.B.shape()[2];
  const std::vector<int64_t> heads = {0, nheads - 1};
  std::vector<int64_t> groups;  // of these heads: in the part each head is a group of its own
  for (const int64_t head : heads) groups.push_back(head / heads_a_group);

  ScanOperands part;
  part.options = operands.options;
  part.x = Pick(operands.x, 2, heads);
  part.dt = Pick(operands.dt, 2, heads);
  part.A = Pick(operands.A, 0, heads);
  part.B = Pick(operands.B, 2, groups);
  part.C = Pick(operands.C, 2, groups);
  part.initial_states = Pick(operands.initial_states, 1, heads);
  part.out = Pick(out, 2, heads);
  part.final_states = Pick(final_states, 1, heads);
  const ScanOperands truth = testing::Truth(part);
  return {RelativeError(what + ": out", part.out, truth.out),
          RelativeError(what + ": final_states", part.final_states, truth.final_states)};
}

double RelativeError(const std::string& what, const HostTensor& got, const HostTensor& truth) {
  const testing::Comparison comparison = testing::Compare(got, truth, HostTensor());
  if (comparison.num_mismatches > 0) {
    throw std::runtime_error(what + ": " + std::to_string(comparison.num_mismatches) +
                             " elements are finite in one and not in the other, the first at " +
                             testing::IndexText(got, comparison.first_mismatch_idx));
  }
  return comparison.relative_l2;
}

Errors Limits(const testing::WorkloadDTypes& dtypes) {
  // fp32: a recurrence in plain fp32 is some 1e-6 off on these inputs; ten times that is a fault.
  // 16 bits: what the project allows bf16 results at full speed, products in bf16 included, and as
  // much less for fp16 as its rounding is finer.
  const auto limit = [](DType dtype) {
    constexpr double kFloat32Limit = 1e-5;
    constexpr double kBFloat16Limit = 3.1e-3;
    if (dtype == DType::kFloat32) return kFloat32Limit;
    return kBFloat16Limit * testing::UnitRoundoff(dtype) / testing::UnitRoundoff(DType::kBFloat16);
  };
  const double operands_limit = limit(dtypes.operands);
  return {operands_limit, std::max(operands_limit, limit(dtypes.states))};
}

void RequireWithin(const std::string& what, const Errors& errors, const Errors& limits) {
  if (errors.out <= limits.out && errors.state <= limits.state) return;
  throw std::runtime_error(what + ": relative error of out " + std::to_string(errors.out) +
                           ", of the states " + std::to_string(errors.state) +
                           ", expected at most " + std::to_string(limits.out) + " and " +
                           std::to_string(limits.state));
}

HostTensor CopyOf(const float* numbers, const std::vector<int64_t>& shape) {
  HostTensor tensor(DType::kFloat32, shape);
  std::memcpy(tensor.view().data, numbers,
              static_cast<size_t>(tensor.num_elements()) * sizeof(float));
  return tensor;
}

}  // namespace tilescan::bench
