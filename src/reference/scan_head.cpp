#include "reference/scan_head.h"

#include <algorithm>

#include "numerics/elements.h"
#include "reference/state_matrix.h"

namespace tilescan::reference {
namespace {

// The offset of element (i, j, k, 0) of an operand.
int64_t Offset(const TensorView& view, int64_t i, int64_t j, int64_t k = 0) {
  return i * view.strides[0] + j * view.strides[1] + k * view.strides[2];
}

}  // namespace

TokenPosition ScanHead::Position(int64_t token) const {
  const ScanSizes& sizes = problem_.sizes;
  return {row_.batch_idx, token, head_idx_, head_idx_ / (sizes.nheads / sizes.ngroups)};
}

Token ScanHead::LoadToken(int64_t token, const TokenBuffers& buffers) const {
  return reference::LoadToken(problem_.operands, Position(token), buffers);
}

void ScanHead::StoreOut(int64_t token, const double* out) const {
  const TensorView& view = problem_.operands.out;
  StoreVector(out, view, Offset(view, row_.batch_idx, token, head_idx_));
}

void ScanHead::StoreZeroOut(int64_t first_token, int64_t end_token) const {
  const TensorView& out = problem_.operands.out;
  for (int64_t token = first_token; token < end_token; ++token) {
    const int64_t offset = Offset(out, row_.batch_idx, token, head_idx_);
    for (int64_t channel = 0; channel < problem_.sizes.headdim; ++channel) {
      numerics::StoreDouble(0.0, out, offset + channel * out.strides[3]);
    }
  }
}

void ScanHead::LoadInitialState(double* state) const {
  const TensorView& view = problem_.operands.initial_states;
  if (view.present()) {
    LoadState(view, Offset(view, row_.state_idx, head_idx_), state);
  } else {
    std::fill_n(state, problem_.sizes.headdim * problem_.sizes.dstate, 0.0);
  }
}

void ScanHead::StoreFinalState(const double* state) const {
  const TensorView& view = problem_.operands.final_states;
  if (view.present()) StoreState(state, view, Offset(view, row_.state_idx, head_idx_));
}

void ScanHead::CopyInitialToFinalState() const {
  const TensorView& from = problem_.operands.initial_states;
  const TensorView& to = problem_.operands.final_states;
  if (!to.present()) return;
  CopyState(from, Offset(from, row_.state_idx, head_idx_), to,
            Offset(to, row_.state_idx, head_idx_));
}

void ScanHead::StoreStateOut(int64_t state_out_idx, const double* state) const {
  const TensorView& view = problem_.operands.states_out;
  if (view.present()) {
    StoreState(state, view, Offset(view, row_.batch_idx, state_out_idx, head_idx_));
  }
}

}  // namespace tilescan::reference
