#include "cpu/scan_row.h"

#include "cpu/scan_operands.h"

namespace tilescan::cpu {

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
