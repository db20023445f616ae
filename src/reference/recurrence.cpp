#include "reference/recurrence.h"

#include <cmath>

#include "core/check_indices.h"
#include "core/workspace.h"
#include "numerics/activations.h"
#include "reference/scan_head.h"
#include "reference/scan_walk.h"

namespace tilescan::reference {

double FinishOut(const Token& token, int64_t channel, double y) {
  double out = y;
  if (token.D != nullptr) out += token.D[channel] * token.x[channel];
  if (token.z != nullptr) out *= numerics::Silu(token.z[channel]);
  return out;
}

void StepToken(const Token& token, int64_t headdim, int64_t dstate, double* state, double* out) {
  const double decay = std::exp(token.dt * token.A);
  for (int64_t channel = 0; channel < headdim; ++channel) {
    double* state_row = state + channel * dstate;
    const double dt_x = token.dt * token.x[channel];
    double y = 0.0;
    for (int64_t n = 0; n < dstate; ++n) {
      state_row[n] = decay * state_row[n] + dt_x * token.B[n];
      y += state_row[n] * token.C[n];
    }
    out[channel] = FinishOut(token, channel, y);
  }
}

namespace {

struct Buffers {
  double* state;  // (headdim, dstate)
  double* out;    // (headdim)
  TokenBuffers token;
};

Buffers Carve(const ScanSizes& sizes, Carver& carver) {
  Buffers buffers;
  buffers.state = carver.Take<double>(sizes.headdim * sizes.dstate);
  buffers.out = carver.Take<double>(sizes.headdim);
  buffers.token = CarveTokenBuffers(sizes.headdim, sizes.dstate, carver);
  return buffers;
}

}  // namespace

size_t RecurrenceWorkspaceBytes(const ScanForwardProblem& problem, const Schedule&) {
  Carver carver;
  Carve(problem.sizes, carver);
  return carver.required_bytes();
}

Status RunRecurrence(const ScanForwardProblem& problem, const Launch& launch) {
  TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  Carver carver(launch.workspace);
  const ScanSizes& sizes = problem.sizes;
  const Buffers buffers = Carve(sizes, carver);
  const auto step = [&](const ScanHead& head, const TokenSpan& span) {
    const Token token = head.LoadToken(span.first_token, buffers.token);
    StepToken(token, sizes.headdim, sizes.dstate, buffers.state, buffers.out);
    head.StoreOut(span.first_token, buffers.out);
  };
  WalkScan(problem, /*max_tokens=*/1, buffers.state, step);
  return Status();
}

}  // namespace tilescan::reference
