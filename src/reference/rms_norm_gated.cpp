// norm(y) = y / sqrt(mean of y^2 + eps) * weight + bias; out = norm(x silu(z)), or norm(x) silu(z).
#include "reference/rms_norm_gated.h"

#include <cmath>

#include "core/workspace.h"
#include "numerics/activations.h"
#include "numerics/elements.h"

namespace tilescan::reference {
namespace {

// One group of channels of one token.
struct Group {
  int64_t batch_idx, token, first_channel;

  int64_t Offset(const TensorView& view, int64_t idx) const {
    return batch_idx * view.strides[0] + token * view.strides[1] +
           (first_channel + idx) * view.strides[2];
  }
};

double ChannelValue(const TensorView& view, int64_t channel, double otherwise) {
  return view.present() ? numerics::LoadDouble(view, channel * view.strides[0]) : otherwise;
}

// values: scratch, (group_size).
void NormGroup(const RmsNormGatedForwardProblem& problem, const Group& group, double* values) {
  const RmsNormGatedForwardOperands& operands = problem.operands;
  const int64_t size = problem.sizes.group_size;
  const auto gate = [&](int64_t idx) {
    return operands.z.present()
               ? numerics::Silu(numerics::LoadDouble(operands.z, group.Offset(operands.z, idx)))
               : 1.0;
  };
  double sum_of_squares = 0.0;
  for (int64_t idx = 0; idx < size; ++idx) {
    double value = numerics::LoadDouble(operands.x, group.Offset(operands.x, idx));
    if (!operands.norm_before_gate) value *= gate(idx);
    values[idx] = value;
    sum_of_squares += value * value;
  }
  const double root =
      std::sqrt(sum_of_squares / static_cast<double>(size) + static_cast<double>(operands.eps));
  for (int64_t idx = 0; idx < size; ++idx) {
    const int64_t channel = group.first_channel + idx;
    double value = values[idx] / root * ChannelValue(operands.weight, channel, 1.0) +
                   ChannelValue(operands.bias, channel, 0.0);
    if (operands.norm_before_gate) value *= gate(idx);
    numerics::StoreDouble(value, operands.out, group.Offset(operands.out, idx));
  }
}

}  // namespace

size_t RmsNormGatedWorkspaceBytes(const RmsNormGatedForwardProblem& problem, const Schedule&) {
  Carver carver;
  carver.Take<double>(problem.sizes.group_size);
  return carver.required_bytes();
}

Status RunRmsNormGatedForward(const RmsNormGatedForwardProblem& problem, const Launch& launch) {
  const RmsNormGatedForwardSizes& sizes = problem.sizes;
  Carver carver(launch.workspace);
  double* values = carver.Take<double>(sizes.group_size);
  for (int64_t batch_idx = 0; batch_idx < sizes.batch; ++batch_idx) {
    for (int64_t token = 0; token < sizes.seqlen; ++token) {
      for (int64_t first = 0; first < sizes.dim; first += sizes.group_size) {
        NormGroup(problem, {batch_idx, token, first}, values);
      }
    }
  }
  return Status();
}

}  // namespace tilescan::reference
