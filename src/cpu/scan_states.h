// States of a scan on their way between the caller and the kernels, and runs of padding; whatever
// the kernels' layout of a state. A Setup has
//
//   const ScanForwardProblem* problem;
//   int64_t NumStateElements() const;
//   void LoadState(const Rows& from, float* scratch, float* state) const;
//   void StoreState(const float* state, float* scratch, const Rows& to) const;
#ifndef TILESCAN_CPU_SCAN_STATES_H_
#define TILESCAN_CPU_SCAN_STATES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/sequences.h"
#include "cpu/scan_operands.h"

namespace tilescan::cpu {

// A head's state on its way along a row. While is_zero its memory is undefined.
struct CarriedState {
  float* data = nullptr;
  bool is_zero = true;

  const float* OrNull() const { return is_zero ? nullptr : data; }

  // Makes it a state in memory.
  void Materialise(int64_t num_elements) {
    if (is_zero) std::fill(data, data + num_elements, 0.0f);
    is_zero = false;
  }
};

// Copies elements without looking at them.
inline void CopyBits(const Rows& from, const Rows& to, int64_t num_rows, int64_t num_elements) {
  const int64_t bytes = ElementBytes(from.dtype);
  for (int64_t row_idx = 0; row_idx < num_rows; ++row_idx) {
    for (int64_t idx = 0; idx < num_elements; ++idx) {
      std::memmove(to.At(row_idx) + idx * to.element_stride * bytes,
                   from.At(row_idx) + idx * from.element_stride * bytes,
                   static_cast<size_t>(bytes));
    }
  }
}

inline void StoreZeroRow(const Rows& rows, int64_t row_idx, int64_t num_elements) {
  const int64_t bytes = ElementBytes(rows.dtype);
  for (int64_t idx = 0; idx < num_elements; ++idx) {
    std::memset(rows.At(row_idx) + idx * rows.element_stride * bytes, 0,
                static_cast<size_t>(bytes));
  }
}

// The state a row begins with.
template <class Setup>
void LoadInitialState(const Setup& setup, const ScanRow& row, int64_t head_idx, float* scratch,
                      CarriedState* state) {
  const TensorView& initial = setup.problem->operands.initial_states;
  state->is_zero = !initial.present();
  if (state->is_zero) return;
  setup.LoadState(StateRows(initial, row.state_idx * initial.strides[0], head_idx), scratch,
                  state->data);
}

// Writes final_states, if asked for. has_moved: the row had a token that is not padding; else the
// initial state is passed on bit for bit.
template <class Setup>
void StoreFinalState(const Setup& setup, const ScanRow& row, int64_t head_idx, bool has_moved,
                     float* scratch, CarriedState* state) {
  const TensorView& initial = setup.problem->operands.initial_states;
  const TensorView& final = setup.problem->operands.final_states;
  if (!final.present()) return;
  const Rows to = StateRows(final, row.state_idx * final.strides[0], head_idx);
  if (!has_moved && initial.present() && initial.dtype == final.dtype) {
    const Rows from = StateRows(initial, row.state_idx * initial.strides[0], head_idx);
    CopyBits(from, to, setup.problem->sizes.headdim, setup.problem->sizes.dstate);
    return;
  }
  state->Materialise(setup.NumStateElements());
  setup.StoreState(state->data, scratch, to);
}

// Writes the state after the row's token number num_tokens (a multiple of states_every) to
// states_out.
template <class Setup>
void StoreStateOut(const Setup& setup, const ScanRow& row, int64_t head_idx, int64_t num_tokens,
                   float* scratch, CarriedState* state) {
  const TensorView& states_out = setup.problem->operands.states_out;
  const int64_t state_out_idx = row.first_state_out + num_tokens / row.states_every - 1;
  state->Materialise(setup.NumStateElements());
  setup.StoreState(
      state->data, scratch,
      StateRows(states_out,
                row.batch_idx * states_out.strides[0] + state_out_idx * states_out.strides[1],
                head_idx));
}

// out = 0, and the states that pass unchanged to states_out, for a run of padding.
template <class Setup>
void PassPadding(const Setup& setup, const ScanRow& row, const TokenRun& run, int64_t head_idx,
                 float* scratch, CarriedState* state) {
  const Rows out = TokenRows(setup.problem->operands.out, row.batch_idx, run.first_token, head_idx);
  for (int64_t token = 0; token < run.num_tokens; ++token) {
    StoreZeroRow(out, token, setup.problem->sizes.headdim);
  }
  if (row.states_every == 0) return;
  const int64_t first = run.first_token - row.first_token;
  for (int64_t position = (first / row.states_every + 1) * row.states_every;
       position <= first + run.num_tokens; position += row.states_every) {
    StoreStateOut(setup, row, head_idx, position, scratch, state);
  }
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_STATES_H_
