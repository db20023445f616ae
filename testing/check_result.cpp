#include "testing/check_result.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "testing/compare.h"
#include "testing/select.h"
#include "testing/truth.h"

namespace tilescan::testing {
namespace {

// The first and the last of some.
std::vector<int64_t> Ends(int64_t count) {
  return count > 1 ? std::vector<int64_t>{0, count - 1} : std::vector<int64_t>{0};
}

// The heads of a part, and the groups that they are of: in the part each head is a group of its
// own.
struct Heads {
  Heads(int64_t nheads, int64_t ngroups) : heads(Ends(nheads)) {
    for (const int64_t head : heads) groups.push_back(head / (nheads / ngroups));
  }
  std::vector<int64_t> heads;
  std::vector<int64_t> groups;
};

}  // namespace

Errors ErrorsOnPart(const std::string& what, const ScanOperands& operands, const HostTensor& out,
                    const HostTensor& final_states) {
  const auto [heads, groups] = Heads(operands.x.shape()[2], operands.B.shape()[2]);
  const auto pick = [](const HostTensor& tensor, size_t dim, const std::vector<int64_t>& indices) {
    return Select(Select(tensor, 0, {0}), dim, indices);
  };
  ScanOperands part;
  part.options = operands.options;
  part.x = pick(operands.x, 2, heads);
  part.dt = pick(operands.dt, 2, heads);
  part.A = Select(operands.A, 0, heads);
  part.B = pick(operands.B, 2, groups);
  part.C = pick(operands.C, 2, groups);
  part.initial_states = pick(operands.initial_states, 1, heads);
  part.out = pick(out, 2, heads);
  part.final_states = pick(final_states, 1, heads);
  const ScanOperands truth = Truth(part);
  return {RelativeError(what + ": out", part.out, truth.out),
          RelativeError(what + ": final_states", part.final_states, truth.final_states)};
}

Errors ErrorsOnPart(const std::string& what, const StateUpdateOperands& operands,
                    const HostTensor& out, const HostTensor& state) {
  const auto [heads, groups] = Heads(operands.x.shape()[1], operands.B.shape()[1]);
  const std::vector<int64_t> rows = Ends(operands.x.shape()[0]);
  const StateUpdateOperands truth = Truth(SelectHeads(SelectRows(operands, rows), heads, groups));
  const auto pick = [&heads = heads, &rows](const HostTensor& tensor) {
    return Select(Select(tensor, 0, rows), 1, heads);
  };
  return {RelativeError(what + ": out", pick(out), truth.out),
          RelativeError(what + ": state", pick(state), truth.state)};
}

double RelativeError(const std::string& what, const HostTensor& got, const HostTensor& truth) {
  const Comparison comparison = Compare(got, truth, HostTensor());
  if (comparison.num_mismatches > 0) {
    throw std::runtime_error(what + ": " + std::to_string(comparison.num_mismatches) +
                             " elements are finite in one and not in the other, the first at " +
                             IndexText(got, comparison.first_mismatch_idx));
  }
  return comparison.relative_l2;
}

Errors Limits(const WorkloadDTypes& dtypes, bool is_on_device) {
  // fp64: only the reference has it, in sums of another order at most. fp32: a recurrence in plain
  // fp32 is some 1e-6 off on these inputs; ten times that is a fault. 16 bits: what the project
  // allows bf16 results at full speed, products in bf16 included, and as much less for fp16 as its
  // rounding is finer. On a GPU the products of fp16 operands round their other operand to as few
  // bits, up to four times on the way to out beside out itself: 6.3e-4, with a rounding of
  // 2^-11 / sqrt(3) each.
  const auto limit = [is_on_device](DType dtype) {
    constexpr double kFloat64Limit = 1e-12;
    constexpr double kFloat32Limit = 1e-5;
    constexpr double kBFloat16Limit = 3.1e-3;
    constexpr double kDeviceFloat16Limit = 1e-3;
    if (dtype == DType::kFloat64) return kFloat64Limit;
    if (dtype == DType::kFloat32) return kFloat32Limit;
    if (dtype == DType::kFloat16 && is_on_device) return kDeviceFloat16Limit;
    return kBFloat16Limit * UnitRoundoff(dtype) / UnitRoundoff(DType::kBFloat16);
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

}  // namespace tilescan::testing
