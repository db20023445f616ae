// The chunked form of the scan, a function a stage, in float64. A chunk is num_tokens tokens of one
// head, A a number. With dA_t = dt_t * A and a_i the sum of dA_s over s <= i in the chunk, H the
// state before it:
//
//   H'  = e^{a_last} H + sum over j of e^{a_last - a_j} dt_j x_j (outer) B_j
//   y_i = e^{a_i} H C_i + sum over j <= i of e^{a_i - a_j} dt_j (C_i . B_j) x_j
//
// This is the recurrence solved over the chunk (Dao and Gu, "Transformers are SSMs", 2024, section
// 6), so results agree with it up to rounding. Differences of a are summed over their own tokens,
// never subtracted: after a strong decay a difference of running sums would have lost the small
// steps. Range: |a| up to 700, where e^a leaves float64; beyond it a chunk of one token is exact.
#ifndef TILESCAN_REFERENCE_STAGES_H_
#define TILESCAN_REFERENCE_STAGES_H_

#include <cstddef>
#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "core/workspace.h"
#include "plan/variant.h"

namespace tilescan::reference {

// A chunk's operands and intermediate results, compact.
struct Chunk {
  int64_t num_tokens = 0;
  int64_t headdim = 0;
  int64_t dstate = 0;
  double* dt = nullptr;            // (num_tokens), processed
  double* x = nullptr;             // (num_tokens, headdim)
  double* B = nullptr;             // (num_tokens, dstate)
  double* C = nullptr;             // (num_tokens, dstate)
  double* dA = nullptr;            // (num_tokens): dt * A
  double* dA_cumsum = nullptr;     // (num_tokens): dA summed over tokens up to and with this one
  double* dA_remaining = nullptr;  // (num_tokens): dA summed over the tokens behind this one
  double* y = nullptr;             // (num_tokens, headdim)
};

// Fills dA, dA_cumsum and dA_remaining from dt.
void ChunkCumsum(double A, const Chunk& chunk);

// Fills y, from the state (headdim, dstate) before the chunk.
void ComputeOut(const Chunk& chunk, const double* state);

// Replaces the state before the chunk by the state after it.
void PassState(const Chunk& chunk, double* state);

// The scan forward made of these stages: every operand of the public interface, as the recurrence.
size_t StagesWorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule);
Status RunStages(const ScanForwardProblem& problem, const Launch& launch);

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_STAGES_H_
