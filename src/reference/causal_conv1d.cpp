// out_t = activation(bias + sum over i of weight_i window_i), where the window is the width - 1
// values seen before, which are the state, and x_t.
#include "reference/causal_conv1d.h"

#include <algorithm>
#include <array>

#include "core/check_indices.h"
#include "core/sequences.h"
#include "numerics/activations.h"
#include "numerics/elements.h"

namespace tilescan::reference {
namespace {

// One channel's weights, and the values its window holds. The last is the token at hand.
class Channel {
 public:
  template <typename Problem>
  Channel(const Problem& problem, int64_t channel)
      : width_(static_cast<size_t>(problem.sizes.width)), has_silu_(problem.operands.has_silu) {
    const TensorView& weight = problem.operands.weight;
    const TensorView& bias = problem.operands.bias;
    for (size_t idx = 0; idx < width_; ++idx) {
      weight_[idx] = numerics::LoadDouble(
          weight, channel * weight.strides[0] + static_cast<int64_t>(idx) * weight.strides[1]);
    }
    if (bias.present()) bias_ = numerics::LoadDouble(bias, channel * bias.strides[0]);
  }

  size_t num_before() const { return width_ - 1; }
  // Of the token `num_before() - idx` before the next.
  double& Before(size_t idx) { return window_[idx]; }
  void Clear() { window_.fill(0.0); }

  // The token's out; its x then belongs to what is before the next one.
  double Step(double x) {
    window_[width_ - 1] = x;
    double sum = bias_;
    for (size_t idx = 0; idx < width_; ++idx) sum += weight_[idx] * window_[idx];
    std::copy(window_.begin() + 1, window_.end(), window_.begin());
    return has_silu_ ? numerics::Silu(sum) : sum;
  }

 private:
  size_t width_;
  bool has_silu_;
  std::array<double, kMostConvWidth> weight_{};
  double bias_ = 0.0;
  std::array<double, kMostConvWidth> window_{};
};

// ---- forward ----

int64_t StateOffset(const TensorView& states, int64_t row_idx, int64_t channel, size_t column) {
  return row_idx * states.strides[0] + channel * states.strides[1] +
         static_cast<int64_t>(column) * states.strides[2];
}

void StepRun(const CausalConv1dForwardProblem& problem, const ScanRow& row, const TokenRun& run,
             int64_t channel_idx, Channel* channel) {
  const TensorView& x = problem.operands.x;
  const TensorView& out = problem.operands.out;
  for (int64_t token = run.first_token; token < run.first_token + run.num_tokens; ++token) {
    const auto offset = [&](const TensorView& view) {
      return row.batch_idx * view.strides[0] + token * view.strides[1] +
             channel_idx * view.strides[2];
    };
    const double value = run.is_padding ? 0.0 : channel->Step(numerics::LoadDouble(x, offset(x)));
    numerics::StoreDouble(value, out, offset(out));
  }
}

void ConvolveRow(const CausalConv1dForwardProblem& problem, const ScanRow& row,
                 int64_t channel_idx) {
  const TensorView& initial_states = problem.operands.initial_states;
  const TensorView& final_states = problem.operands.final_states;
  Channel channel(problem, channel_idx);
  const bool copies = row.num_tokens == 0 && initial_states.present() && final_states.present();
  for (size_t idx = 0; idx < channel.num_before(); ++idx) {
    if (!initial_states.present()) continue;
    const int64_t offset = StateOffset(initial_states, row.state_idx, channel_idx, idx);
    channel.Before(idx) = numerics::LoadDouble(initial_states, offset);
    // Bit for bit.
    if (copies) {
      numerics::CopyElement(initial_states, offset, final_states,
                            StateOffset(final_states, row.state_idx, channel_idx, idx));
    }
  }
  RunCursor cursor(problem, row);
  TokenRun run;
  while (cursor.NextRun(&run)) {
    if (run.starts_from_zero) channel.Clear();
    StepRun(problem, row, run, channel_idx, &channel);
  }
  if (!final_states.present() || copies) return;
  for (size_t idx = 0; idx < channel.num_before(); ++idx) {
    numerics::StoreDouble(channel.Before(idx), final_states,
                          StateOffset(final_states, row.state_idx, channel_idx, idx));
  }
}

// ---- update ----

// A channel of a slot: the tokens before the next one, and where they are kept.
class SlotChannel {
 public:
  SlotChannel(const CausalConv1dUpdateProblem& problem, int64_t slot, int64_t channel)
      : state_(problem.operands.conv_state),
        state_len_(problem.sizes.state_len),
        offset_(slot * state_.strides[0] + channel * state_.strides[1]) {}

  // The value `age` tokens before the next one, 1 for the last.
  double Before(int64_t age, int64_t next_token, bool is_circular) const {
    const int64_t idx =
        is_circular ? (next_token % state_len_ - age + state_len_) % state_len_ : state_len_ - age;
    return numerics::LoadDouble(state_, OffsetOf(idx));
  }

  void Keep(double x, int64_t token, bool is_circular) const {
    if (is_circular) {
      numerics::StoreDouble(x, state_, OffsetOf(token % state_len_));
      return;
    }
    for (int64_t idx = 0; idx + 1 < state_len_; ++idx) {
      numerics::CopyElement(state_, OffsetOf(idx + 1), state_, OffsetOf(idx));
    }
    numerics::StoreDouble(x, state_, OffsetOf(state_len_ - 1));
  }

 private:
  int64_t OffsetOf(int64_t idx) const { return offset_ + idx * state_.strides[2]; }

  const TensorView& state_;
  int64_t state_len_;
  int64_t offset_;
};

void UpdateChannel(const CausalConv1dUpdateProblem& problem, int64_t batch_idx,
                   int64_t channel_idx) {
  const CausalConv1dUpdateOperands& operands = problem.operands;
  const TensorView& slots = operands.conv_state_indices;
  const int64_t slot = slots.present() ? IndexAt(slots, batch_idx) : batch_idx;
  const bool is_circular = operands.cache_seqlens.present();
  const int64_t first_token = is_circular ? IndexAt(operands.cache_seqlens, batch_idx) : 0;
  const SlotChannel kept(problem, slot, channel_idx);
  Channel channel(problem, channel_idx);
  const auto num_before = static_cast<int64_t>(channel.num_before());
  for (int64_t age = 1; slot >= 0 && age <= num_before; ++age) {
    channel.Before(static_cast<size_t>(num_before - age)) =
        kept.Before(age, first_token, is_circular);
  }
  for (int64_t token = 0; token < problem.sizes.num_tokens; ++token) {
    const auto offset = [&](const TensorView& view) {
      return batch_idx * view.strides[0] + token * view.strides[1] + channel_idx * view.strides[2];
    };
    double out = 0.0;
    if (slot >= 0) {
      const double x = numerics::LoadDouble(operands.x, offset(operands.x));
      out = channel.Step(x);
      kept.Keep(x, first_token + token, is_circular);
    }
    numerics::StoreDouble(out, operands.out, offset(operands.out));
  }
}

}  // namespace

Status RunCausalConv1dForward(const CausalConv1dForwardProblem& problem, const Launch&) {
  TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  for (int64_t row_idx = 0; row_idx < NumScanRows(problem); ++row_idx) {
    const ScanRow row = GetTokenRow(problem, row_idx);
    for (int64_t channel = 0; channel < problem.sizes.dim; ++channel) {
      ConvolveRow(problem, row, channel);
    }
  }
  return Status();
}

Status RunCausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, const Launch&) {
  TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  for (int64_t batch_idx = 0; batch_idx < problem.sizes.batch; ++batch_idx) {
    for (int64_t channel = 0; channel < problem.sizes.dim; ++channel) {
      UpdateChannel(problem, batch_idx, channel);
    }
  }
  return Status();
}

}  // namespace tilescan::reference
