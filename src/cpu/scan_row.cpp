#include "cpu/scan_row.h"

#include <algorithm>
#include <cstring>

#include "cpu/scan_operands.h"

namespace tilescan::cpu {
namespace {

void Materialise(const ScanSetup& setup, CarriedState* state) {
  if (!state->is_zero) return;
  std::fill(state->data, state->data + StateElements(setup.shape), 0.0f);
  state->is_zero = false;
}

// Copies elements without looking at them.
void CopyBits(const Rows& from, const Rows& to, int64_t num_rows, int64_t num_elements) {
  const int64_t bytes = ElementBytes(from.dtype);
  for (int64_t row_idx = 0; row_idx < num_rows; ++row_idx) {
    for (int64_t idx = 0; idx < num_elements; ++idx) {
      std::memmove(to.At(row_idx) + idx * to.element_stride * bytes,
                   from.At(row_idx) + idx * from.element_stride * bytes,
                   static_cast<size_t>(bytes));
    }
  }
}

void StoreZeroRow(const Rows& rows, int64_t row_idx, int64_t num_elements) {
  const int64_t bytes = ElementBytes(rows.dtype);
  for (int64_t idx = 0; idx < num_elements; ++idx) {
    std::memset(rows.At(row_idx) + idx * rows.element_stride * bytes, 0,
                static_cast<size_t>(bytes));
  }
}

}  // namespace

void LoadInitialState(const ScanSetup& setup, const ScanRow& row, int64_t head_idx, float* scratch,
                      CarriedState* state) {
  const TensorView& initial = setup.problem->operands.initial_states;
  state->is_zero = !initial.present();
  if (state->is_zero) return;
  const Rows rows = StateRows(initial, row.state_idx * initial.strides[0], head_idx);
  setup.steps->load_state(setup.shape, rows, scratch, state->data);
}

void StoreFinalState(const ScanSetup& setup, const ScanRow& row, int64_t head_idx, bool has_moved,
                     float* scratch, CarriedState* state) {
  const TensorView& initial = setup.problem->operands.initial_states;
  const TensorView& final = setup.problem->operands.final_states;
  if (!final.present()) return;
  const Rows to = StateRows(final, row.state_idx * final.strides[0], head_idx);
  if (!has_moved && initial.present() && initial.dtype == final.dtype) {
    const Rows from = StateRows(initial, row.state_idx * initial.strides[0], head_idx);
    CopyBits(from, to, setup.shape.headdim, setup.shape.dstate);
    return;
  }
  Materialise(setup, state);
  setup.steps->store_state(setup.shape, state->data, scratch, to);
}

void StoreStateOut(const ScanSetup& setup, const ScanRow& row, int64_t head_idx, int64_t num_tokens,
                   float* scratch, CarriedState* state) {
  const TensorView& states_out = setup.problem->operands.states_out;
  const int64_t state_out_idx = row.first_state_out + num_tokens / row.states_every - 1;
  Materialise(setup, state);
  setup.steps->store_state(
      setup.shape, state->data, scratch,
      StateRows(states_out,
                row.batch_idx * states_out.strides[0] + state_out_idx * states_out.strides[1],
                head_idx));
}

void PassPadding(const ScanSetup& setup, const ScanRow& row, const TokenRun& run, int64_t head_idx,
                 float* scratch, CarriedState* state) {
  const Rows out = TokenRows(setup.problem->operands.out, row.batch_idx, run.first_token, head_idx);
  for (int64_t token = 0; token < run.num_tokens; ++token) {
    StoreZeroRow(out, token, setup.shape.headdim);
  }
  if (row.states_every == 0) return;
  const int64_t first = run.first_token - row.first_token;
  for (int64_t position = (first / row.states_every + 1) * row.states_every;
       position <= first + run.num_tokens; position += row.states_every) {
    StoreStateOut(setup, row, head_idx, position, scratch, state);
  }
}

void PackGroup(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t group_idx,
               float* scratch, const GroupBuffers& group) {
  const ScanForwardOperands& operands = setup.problem->operands;
  setup.steps->pack_group(setup.shape,
                          TokenRows(operands.B, row.batch_idx, chunk.first_token, group_idx),
                          TokenRows(operands.C, row.batch_idx, chunk.first_token, group_idx),
                          chunk.num_tokens, scratch, group);
}

NextX XOf(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx) {
  return {TokenRows(setup.problem->operands.x, row.batch_idx, chunk.first_token, head_idx),
          chunk.num_tokens};
}

void LoadChunk(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx,
               const HeadParameters& parameters, const HeadBuffers& head) {
  setup.steps->chunk_cumsum(
      TokenRows(setup.problem->operands.dt, row.batch_idx, chunk.first_token, head_idx),
      chunk.num_tokens, parameters, head);
  setup.steps->load_x(setup.shape, XOf(setup, row, chunk, head_idx).rows, chunk.num_tokens, head.x);
}

void ComputeChunk(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx,
                  const HeadParameters& parameters, const GroupBuffers& group,
                  const ThreadBuffers& thread, const float* state, const NextX& next_x) {
  const HeadBuffers& head = thread.head;
  const int64_t first = chunk.first_token - row.first_token;
  // The state at the chunk's end is stored by the caller, who passes it on.
  for (int64_t position = row.states_every == 0 ? first + chunk.num_tokens
                                                : (first / row.states_every + 1) * row.states_every;
       position < first + chunk.num_tokens; position += row.states_every) {
    setup.steps->weigh_x(setup.shape, head, position - first);
    setup.steps->pass_state(setup.shape, group, head, position - first, state, thread.partial_state,
                            /*next_state=*/nullptr);
    CarriedState partial{thread.partial_state, false};
    StoreStateOut(setup, row, head_idx, position, head.rows, &partial);
  }
  setup.steps->weigh_x(setup.shape, head, chunk.num_tokens);
  setup.steps->compute_out(setup.shape, group, head, parameters, state, chunk.num_tokens, next_x);
  const ScanForwardOperands& operands = setup.problem->operands;
  setup.steps->store_out(setup.shape, head.x,
                         TokenRows(operands.z, row.batch_idx, chunk.first_token, head_idx),
                         chunk.num_tokens, setup.cut.past_caches, head.rows,
                         TokenRows(operands.out, row.batch_idx, chunk.first_token, head_idx));
}

}  // namespace tilescan::cpu
