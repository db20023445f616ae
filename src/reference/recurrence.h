// The recurrence in float64, token by token: what decides which results are right.
#ifndef TILESCAN_REFERENCE_RECURRENCE_H_
#define TILESCAN_REFERENCE_RECURRENCE_H_

#include <cstddef>
#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "plan/variant.h"
#include "reference/token.h"

namespace tilescan::reference {

// Advances the state (headdim, dstate) of a head by one token and computes out (headdim).
void StepToken(const Token& token, int64_t headdim, int64_t dstate, double* state, double* out);

// out_t made of y_t = state_t . C_t, for one channel: y_t + D * x_t, and with z times silu(z_t).
double FinishOut(const Token& token, int64_t channel, double y);

// The scan forward, with every operand of the public interface, any dtype, any strides.
size_t RecurrenceWorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule);
Status RunRecurrence(const ScanForwardProblem& problem, const Launch& launch);

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_RECURRENCE_H_
