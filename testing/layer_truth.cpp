// What outputs of the operations around the scan are held against. The honest runs are written
// against the formulas of include/tilescan/layer.h, and walk sequences in their own way.
#include <cmath>
#include <string_view>
#include <vector>

#include "core/sequences.h"
#include "numerics/activations.h"
#include "testing/solve.h"
#include "testing/truth.h"

namespace tilescan::testing {
namespace {

float FloatAt(const HostTensor& tensor, int64_t idx) { return static_cast<float>(tensor.Get(idx)); }

// silu'(s) lies within [-0.1, 1.1], and |silu(s)| <= |s|: so the terms of the sum scale the result
// with activation too. (1.1 is within what limits leave for a few operations.)
template <typename Operands>
Operands ConvMagnitudes(const Operands& operands) {
  Operands absolute =
      CopyOperands(InFloat64(operands), [](const char*, const HostTensor& tensor, bool is_output) {
        return IsFloat(tensor) && !is_output ? Absolute(tensor)
                                             : WithLayout(tensor, Layout::kCompact);
      });
  absolute.options.has_silu = false;
  return absolute;
}

// out of one token in float32. window: the oldest of its width values first.
float HonestConv(const HostTensor& weight, const HostTensor& bias, bool has_silu, int64_t channel,
                 const std::vector<float>& window) {
  const int64_t width = weight.shape()[1];
  float sum = bias.present() ? FloatAt(bias, channel) : 0.0f;
  for (int64_t idx = 0; idx < width; ++idx) {
    sum += FloatAt(weight, channel * width + idx) * window[static_cast<size_t>(idx)];
  }
  return has_silu ? numerics::Silu(sum) : sum;
}

// Moves a window on by a token.
void Push(float value, std::vector<float>* window) {
  window->erase(window->begin());
  window->push_back(value);
}

// One channel of one row of tokens.
void HonestConvRow(const ScanRow& row, int64_t channel, ConvOperands& honest) {
  const int64_t dim = honest.x.shape()[2];
  const int64_t width = honest.weight.shape()[1];
  const int64_t state_offset = (row.state_idx * dim + channel) * (width - 1);
  std::vector<float> window(static_cast<size_t>(width), 0.0f);
  for (int64_t idx = 0; idx + 1 < width && honest.initial_states.present(); ++idx) {
    Push(FloatAt(honest.initial_states, state_offset + idx), &window);
  }
  double last_id = -1.0;
  const int64_t seqlen = honest.x.shape()[1];
  for (int64_t token = row.first_token; token < row.first_token + row.num_tokens; ++token) {
    const int64_t token_idx = row.batch_idx * seqlen + token;
    const double id = honest.seq_idx.present() ? honest.seq_idx.Get(token_idx) : 0.0;
    if (id < 0.0) {
      honest.out.Set(token_idx * dim + channel, 0.0);
      continue;
    }
    if (last_id >= 0.0 && id != last_id) window.assign(window.size(), 0.0f);
    last_id = id;
    Push(FloatAt(honest.x, token_idx * dim + channel), &window);
    honest.out.Set(token_idx * dim + channel, HonestConv(honest.weight, honest.bias,
                                                         honest.options.has_silu, channel, window));
  }
  for (int64_t idx = 0; idx + 1 < width && honest.final_states.present(); ++idx) {
    honest.final_states.Set(state_offset + idx, window[static_cast<size_t>(idx) + 1]);
  }
}

}  // namespace

ConvOperands Truth(const ConvOperands& operands) {
  return Solved(InFloat64(WithoutResults(operands)));
}
ConvUpdateOperands Truth(const ConvUpdateOperands& operands) {
  return Solved(InFloat64(WithoutResults(operands)));
}
NormOperands Truth(const NormOperands& operands) {
  return Solved(InFloat64(WithoutResults(operands)));
}

ConvOperands Magnitudes(const ConvOperands& operands) {
  return Solved(ConvMagnitudes(WithoutResults(operands)));
}

ConvUpdateOperands Magnitudes(const ConvUpdateOperands& operands) {
  ConvUpdateOperands absolute = ConvMagnitudes(WithoutResults(operands));
  absolute.conv_state = Absolute(absolute.conv_state);
  return Solved(std::move(absolute));
}

// A product, whose error is relative to itself, and the bias with its gate beside it.
NormOperands Magnitudes(const NormOperands& operands) {
  NormOperands magnitudes = InFloat64(WithoutResults(operands));
  magnitudes.bias = HostTensor();
  magnitudes = Solved(std::move(magnitudes));
  const int64_t dim = magnitudes.weight.num_elements();
  const bool has_gate = operands.options.norm_before_gate && operands.z.present();
  for (int64_t idx = 0; idx < magnitudes.out.num_elements(); ++idx) {
    double magnitude = std::fabs(magnitudes.out.Get(idx));
    if (operands.bias.present()) {
      const double gate = has_gate ? numerics::Silu(operands.z.Get(idx)) : 1.0;
      magnitude += std::fabs(operands.bias.Get(idx % dim) * gate);
    }
    magnitudes.out.Set(idx, magnitude);
  }
  return magnitudes;
}

ConvOperands HonestRun(const ConvOperands& operands) {
  ConvOperands honest = WithoutResults(operands);
  const CausalConv1dForwardProblem problem = MakeProblem(honest);
  for (int64_t row_idx = 0; row_idx < NumScanRows(problem); ++row_idx) {
    const ScanRow row = GetTokenRow(problem, row_idx);
    for (int64_t channel = 0; channel < problem.sizes.dim; ++channel) {
      HonestConvRow(row, channel, honest);
    }
  }
  return honest;
}

ConvUpdateOperands HonestRun(const ConvUpdateOperands& operands) {
  ConvUpdateOperands honest = WithoutResults(operands);
  const auto [batch, num_tokens, num_slots, dim, width, state_len] = MakeProblem(honest).sizes;
  for (int64_t idx = 0; idx < batch * dim; ++idx) {
    const int64_t batch_idx = idx / dim;
    const int64_t channel = idx % dim;
    const auto token_idx = [&](int64_t token) {
      return (batch_idx * num_tokens + token) * dim + channel;
    };
    const HostTensor& slots = honest.conv_state_indices;
    const auto slot = slots.present() ? static_cast<int64_t>(slots.Get(batch_idx)) : batch_idx;
    if (slot < 0) {
      for (int64_t token = 0; token < num_tokens; ++token) honest.out.Set(token_idx(token), 0.0);
      continue;
    }
    // The state and the tokens as one row of values, the oldest first.
    const bool is_circular = honest.cache_seqlens.present();
    const auto next =
        is_circular ? static_cast<int64_t>(honest.cache_seqlens.Get(batch_idx)) : int64_t{0};
    const auto place = [&](int64_t age_idx) {
      return (slot * dim + channel) * state_len + (next + age_idx) % state_len;
    };
    std::vector<float> row;
    for (int64_t idx_in_state = 0; idx_in_state < state_len; ++idx_in_state) {
      row.push_back(FloatAt(honest.conv_state, place(idx_in_state)));
    }
    for (int64_t token = 0; token < num_tokens; ++token) {
      row.push_back(FloatAt(honest.x, token_idx(token)));
      const std::vector<float> window(row.end() - width, row.end());
      honest.out.Set(token_idx(token), HonestConv(honest.weight, honest.bias,
                                                  honest.options.has_silu, channel, window));
    }
    const int64_t end_place = next + num_tokens;
    for (int64_t age = 1; age <= state_len; ++age) {
      const int64_t idx_in_state =
          is_circular ? (end_place + state_len - age) % state_len : state_len - age;
      honest.conv_state.Set((slot * dim + channel) * state_len + idx_in_state,
                            row[row.size() - static_cast<size_t>(age)]);
    }
  }
  return honest;
}

NormOperands HonestRun(const NormOperands& operands) {
  NormOperands honest = WithoutResults(operands);
  const RmsNormGatedForwardSizes sizes = MakeProblem(honest).sizes;
  const auto gate = [&](int64_t idx) {
    return honest.z.present() ? numerics::Silu(FloatAt(honest.z, idx)) : 1.0f;
  };
  const bool gates_after = honest.options.norm_before_gate;
  for (int64_t first = 0; first < honest.out.num_elements(); first += sizes.group_size) {
    std::vector<float> values;
    float sum = 0.0f;
    for (int64_t idx = first; idx < first + sizes.group_size; ++idx) {
      values.push_back(FloatAt(honest.x, idx) * (gates_after ? 1.0f : gate(idx)));
      sum += values.back() * values.back();
    }
    const float scale =
        1.0f / std::sqrt(sum / static_cast<float>(sizes.group_size) + honest.options.eps);
    for (int64_t idx = first; idx < first + sizes.group_size; ++idx) {
      const int64_t channel = idx % sizes.dim;
      float value =
          values[static_cast<size_t>(idx - first)] * scale * FloatAt(honest.weight, channel);
      if (honest.bias.present()) value += FloatAt(honest.bias, channel);
      honest.out.Set(idx, gates_after ? value * gate(idx) : value);
    }
  }
  return honest;
}

}  // namespace tilescan::testing
