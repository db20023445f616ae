// The order of a decoding step: for every batch row and head, its tokens from first to last, with
// the state of the row's slot carried along. What happens at a token is the caller's.
#ifndef TILESCAN_REFERENCE_UPDATE_WALK_H_
#define TILESCAN_REFERENCE_UPDATE_WALK_H_

#include <algorithm>
#include <cstdint>

#include "core/sequences.h"
#include "core/state_update.h"
#include "numerics/elements.h"
#include "reference/state_matrix.h"
#include "reference/token.h"

namespace tilescan::reference {

// What a batch row does with its state.
struct UpdateRow {
  int64_t batch_idx = 0;
  int64_t slot = 0;          // negative: padding
  bool is_fresh = false;     // the slot counts as zeros
  int64_t num_accepted = 0;  // tokens that reach the slot
};

inline UpdateRow GetUpdateRow(const StateUpdateProblem& problem, int64_t batch_idx) {
  const StateUpdateOperands& operands = problem.operands;
  UpdateRow row;
  row.batch_idx = batch_idx;
  row.slot = operands.state_batch_indices.present()
                 ? IndexAt(operands.state_batch_indices, batch_idx)
                 : batch_idx;
  row.is_fresh = operands.fresh.present() &&
                 *operands.fresh.At<const uint8_t>(batch_idx * operands.fresh.strides[0]) != 0;
  row.num_accepted = operands.num_accepted.present() ? IndexAt(operands.num_accepted, batch_idx)
                                                     : problem.sizes.num_tokens;
  return row;
}

// Out is 0 for every token and head of a row of padding.
inline void StoreZeroOut(const StateUpdateProblem& problem, int64_t batch_idx) {
  const TensorView& out = problem.operands.out;
  for (int64_t token = 0; token < problem.sizes.num_tokens; ++token) {
    for (int64_t head_idx = 0; head_idx < problem.sizes.nheads; ++head_idx) {
      const int64_t offset = TokenOffset(out, {batch_idx, token, head_idx, 0}, head_idx);
      for (int64_t channel = 0; channel < problem.sizes.headdim; ++channel) {
        numerics::StoreDouble(0.0, out, offset + channel * out.strides[3]);
      }
    }
  }
}

// Calls step(position) for every token of a head: it advances state, (headdim, dstate), by the
// token and stores its out. Reading and writing the slot is done here.
template <typename Step>
void WalkUpdateHead(const StateUpdateProblem& problem, const UpdateRow& row, int64_t head_idx,
                    double* state, const Step& step) {
  const StateUpdateSizes& sizes = problem.sizes;
  const TensorView& slots = problem.operands.state;
  const int64_t slot_offset = row.slot * slots.strides[0] + head_idx * slots.strides[1];
  if (row.is_fresh) {
    std::fill_n(state, sizes.headdim * sizes.dstate, 0.0);
  } else {
    LoadState(slots, slot_offset, state);
  }
  // With no token accepted a slot that is not fresh keeps its bits: it is not written at all.
  if (row.num_accepted == 0 && row.is_fresh) StoreState(state, slots, slot_offset);
  const int64_t group_idx = head_idx / (sizes.nheads / sizes.ngroups);
  for (int64_t token = 0; token < sizes.num_tokens; ++token) {
    step(TokenPosition{row.batch_idx, token, head_idx, group_idx});
    if (token + 1 == row.num_accepted) StoreState(state, slots, slot_offset);
  }
}

template <typename Step>
void WalkStateUpdate(const StateUpdateProblem& problem, double* state, const Step& step) {
  for (int64_t batch_idx = 0; batch_idx < problem.sizes.batch; ++batch_idx) {
    const UpdateRow row = GetUpdateRow(problem, batch_idx);
    if (row.slot < 0) {
      StoreZeroOut(problem, batch_idx);
      continue;
    }
    for (int64_t head_idx = 0; head_idx < problem.sizes.nheads; ++head_idx) {
      WalkUpdateHead(problem, row, head_idx, state, step);
    }
  }
}

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_UPDATE_WALK_H_
