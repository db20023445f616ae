#include "testing/truth.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "numerics/activations.h"
#include "numerics/processed_dt.h"
#include "reference/scan_walk.h"
#include "reference/state_matrix.h"
#include "reference/token.h"
#include "reference/update_walk.h"
#include "testing/solve.h"

namespace tilescan::testing {
namespace {

bool IsSummed(std::string_view name) {
  return name == "x" || name == "B" || name == "C" || name == "D" || name == "initial_states" ||
         name == "state";
}

template <typename Operands>
Operands MagnitudesOf(const Operands& operands) {
  const CallOptions& options = operands.options;
  if (!options.dt_softplus && options.dt_limit[0] < 0.0f) return Operands();
  Operands absolute =
      CopyOperands(InFloat64(operands), [](const char* name, const HostTensor& tensor, bool) {
        return IsSummed(name) ? Absolute(tensor) : WithLayout(tensor, Layout::kCompact);
      });
  Operands magnitudes = Solved(std::move(absolute));
  // z gives out the sign of silu(z).
  for (int64_t idx = 0; idx < magnitudes.out.num_elements(); ++idx) {
    magnitudes.out.Set(idx, std::fabs(magnitudes.out.Get(idx)));
  }
  return magnitudes;
}

// Steps tokens with operations rounded to float32. Values pass through double, which holds each of
// them exactly.
class FloatStepper {
 public:
  FloatStepper(int64_t headdim, int64_t dstate)
      : headdim_(headdim),
        dstate_(dstate),
        state_(static_cast<size_t>(headdim * dstate)),
        token_memory_(static_cast<size_t>(4 * headdim + 2 * dstate)) {
    double* next = token_memory_.data();
    const auto take = [&next](int64_t count) {
      double* taken = next;
      next += count;
      return taken;
    };
    token_buffers_ = {take(headdim), take(dstate), take(dstate), take(headdim), take(headdim)};
    out_ = take(headdim);
  }

  double* state() { return state_.data(); }

  // The result is the out of the token's head, (headdim).
  template <typename Operands>
  const double* Step(const Operands& operands, const reference::TokenPosition& position) {
    const reference::Token token = reference::LoadToken(operands, position, token_buffers_);
    const int64_t head_idx = position.head_idx;
    const float dt = numerics::ProcessedDt(
        numerics::LoadFloat(operands.dt, TokenOffset(operands.dt, position, head_idx)),
        operands.dt_bias.present()
            ? numerics::LoadFloat(operands.dt_bias, head_idx * operands.dt_bias.strides[0])
            : 0.0f,
        {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max});
    const float decay = std::exp(dt * static_cast<float>(token.A));
    for (int64_t channel = 0; channel < headdim_; ++channel) {
      out_[channel] = StepChannel(token, dt, decay, channel);
    }
    return out_;
  }

 private:
  float StepChannel(const reference::Token& token, float dt, float decay, int64_t channel) {
    const auto x = static_cast<float>(token.x[channel]);
    const float dt_x = dt * x;
    double* state_row = state_.data() + channel * dstate_;
    float out = 0.0f;
    for (int64_t n = 0; n < dstate_; ++n) {
      const float state =
          decay * static_cast<float>(state_row[n]) + dt_x * static_cast<float>(token.B[n]);
      state_row[n] = state;
      out += state * static_cast<float>(token.C[n]);
    }
    if (token.D != nullptr) out += static_cast<float>(token.D[channel]) * x;
    if (token.z != nullptr) out *= numerics::Silu(static_cast<float>(token.z[channel]));
    return out;
  }

  int64_t headdim_;
  int64_t dstate_;
  std::vector<double> state_;
  std::vector<double> token_memory_;
  reference::TokenBuffers token_buffers_;
  double* out_ = nullptr;
};

}  // namespace

ScanOperands Truth(const ScanOperands& operands) {
  return Solved(InFloat64(WithoutResults(operands)));
}
StateUpdateOperands Truth(const StateUpdateOperands& operands) {
  return Solved(InFloat64(WithoutResults(operands)));
}

ScanOperands Magnitudes(const ScanOperands& operands) {
  return MagnitudesOf(WithoutResults(operands));
}
StateUpdateOperands Magnitudes(const StateUpdateOperands& operands) {
  return MagnitudesOf(WithoutResults(operands));
}

ScanOperands HonestRun(const ScanOperands& operands) {
  ScanOperands honest = WithoutResults(operands);
  const ScanForwardProblem problem = MakeProblem(honest);
  const ScanSizes& sizes = problem.sizes;
  FloatStepper stepper(sizes.headdim, sizes.dstate);
  const auto step = [&](const reference::ScanHead& head, const reference::TokenSpan& span) {
    const reference::TokenPosition position = head.Position(span.first_token);
    head.StoreOut(span.first_token, stepper.Step(problem.operands, position));
  };
  reference::WalkScan(problem, /*max_tokens=*/1, stepper.state(), step);
  return honest;
}

StateUpdateOperands HonestRun(const StateUpdateOperands& operands) {
  StateUpdateOperands honest = WithoutResults(operands);
  const StateUpdateProblem problem = MakeProblem(honest);
  const TensorView& out = problem.operands.out;
  FloatStepper stepper(problem.sizes.headdim, problem.sizes.dstate);
  const auto step = [&](const reference::TokenPosition& position) {
    reference::StoreVector(stepper.Step(problem.operands, position), out,
                           TokenOffset(out, position, position.head_idx));
  };
  reference::WalkStateUpdate(problem, stepper.state(), step);
  return honest;
}

}  // namespace tilescan::testing
