// The forward scan with rows and heads dealt out to the threads: each carries the states of its
// heads along the row. B, C and CB of a block of chunks are packed once for all heads of a group.
#include <algorithm>
#include <atomic>

#include "cpu/scan_forward.h"
#include "cpu/scan_operands.h"
#include "cpu/scan_row.h"
#include "cpu/thread_pool.h"

namespace tilescan::cpu {
namespace {

// Some heads of a row.
struct Item {
  ScanRow row;
  int64_t first_head;
  int64_t end_head;
};

struct HeadStates {
  float* data;
  int64_t elements;
  bool is_zero = true;  // all of them are at the same place, so they are zero together

  CarriedState Of(int64_t idx) const { return {data + idx * elements, is_zero}; }
};

// One head through the chunks of a block, whose groups' buffers and x are ready.
void AdvanceHead(const ScanSetup& setup, const Item& item, const TokenRun& block, int64_t head_idx,
                 const ThreadBuffers& thread, float* x, CarriedState state) {
  const int64_t row_end = item.row.first_token + item.row.num_tokens;
  const bool has_final = setup.problem->operands.final_states.present();
  const HeadParameters parameters = GetHeadParameters(*setup.problem, head_idx, thread.D_row);
  HeadBuffers head = thread.head;
  const int64_t num_chunks = NumChunks(block, setup.shape.chunk_size);
  for (int64_t chunk_idx = 0; chunk_idx < num_chunks; ++chunk_idx) {
    const Chunk chunk = GetChunk(block, setup.shape.chunk_size, chunk_idx);
    const GroupBuffers& group = thread.groups[chunk_idx];
    head.x = x + chunk_idx * XElements(setup.shape);
    CumulateDecay(setup, item.row, chunk, head_idx, parameters, head);
    ComputeChunk(setup, item.row, chunk, head_idx, parameters, group, thread, head, state.OrNull());
    const int64_t end = chunk.first_token + chunk.num_tokens;
    const bool is_wanted =
        item.row.states_every != 0 && (end - item.row.first_token) % item.row.states_every == 0;
    if (end == row_end && !has_final && !is_wanted) return;
    setup.steps->pass_state(setup.shape, group, head, chunk.num_tokens, state.OrNull(), state.data);
    state.is_zero = false;
    if (is_wanted) {
      StoreStateOut(setup, item.row, head_idx, end - item.row.first_token, head.rows, &state);
    }
  }
}

// The item's heads of one group through a block of chunks.
void AdvanceGroup(const ScanSetup& setup, const Item& item, const TokenRun& block,
                  int64_t group_idx, const ThreadBuffers& thread, const HeadStates& states) {
  const int64_t num_chunks = NumChunks(block, setup.shape.chunk_size);
  for (int64_t chunk_idx = 0; chunk_idx < num_chunks; ++chunk_idx) {
    PackGroup(setup, item.row, GetChunk(block, setup.shape.chunk_size, chunk_idx), group_idx,
              thread.head.rows, thread.groups[chunk_idx]);
  }
  const int64_t heads_per_group = setup.problem->sizes.nheads / setup.problem->sizes.ngroups;
  const int64_t end_head = std::min(item.end_head, (group_idx + 1) * heads_per_group);
  int64_t first_head = std::max(item.first_head, group_idx * heads_per_group);
  while (first_head < end_head) {
    const int64_t num_heads = std::min(setup.cut.heads_per_block, end_head - first_head);
    LoadX(setup, item.row, block, first_head, num_heads, thread.x);
    for (int64_t idx = 0; idx < num_heads; ++idx) {
      AdvanceHead(setup, item, block, first_head + idx, thread,
                  thread.x + idx * num_chunks * XElements(setup.shape),
                  states.Of(first_head + idx - item.first_head));
    }
    StoreOut(setup, item.row, block, first_head, num_heads, thread);
    first_head += num_heads;
  }
}

// All heads of the item through a run, a block of chunks at a time.
void AdvanceRun(const ScanSetup& setup, const Item& item, const TokenRun& run,
                const ThreadBuffers& thread, HeadStates* states) {
  const int64_t heads_per_group = setup.problem->sizes.nheads / setup.problem->sizes.ngroups;
  const int64_t block_tokens = setup.cut.chunks_per_block * setup.shape.chunk_size;
  for (int64_t offset = 0; offset < run.num_tokens; offset += block_tokens) {
    TokenRun block;
    block.first_token = run.first_token + offset;
    block.num_tokens = std::min(block_tokens, run.num_tokens - offset);
    for (int64_t group_idx = item.first_head / heads_per_group;
         group_idx * heads_per_group < item.end_head; ++group_idx) {
      AdvanceGroup(setup, item, block, group_idx, thread, *states);
    }
    states->is_zero = false;
  }
}

void ScanItem(const ScanSetup& setup, const Item& item, const ThreadBuffers& thread) {
  HeadStates states{thread.states, StateElements(setup.shape)};
  const int64_t num_heads = item.end_head - item.first_head;
  float* scratch = thread.head.rows;
  states.is_zero = !setup.problem->operands.initial_states.present();
  for (int64_t idx = 0; idx < num_heads; ++idx) {
    CarriedState state = states.Of(idx);
    LoadInitialState(setup, item.row, item.first_head + idx, scratch, &state);
  }
  bool has_moved = false;
  RunCursor cursor(*setup.problem, item.row);
  for (TokenRun run; cursor.NextRun(&run);) {
    if (run.is_padding) {
      for (int64_t idx = 0; idx < num_heads; ++idx) {
        CarriedState state = states.Of(idx);
        PassPadding(setup, item.row, run, item.first_head + idx, scratch, &state);
      }
      continue;
    }
    if (run.starts_from_zero) states.is_zero = true;
    has_moved = true;
    AdvanceRun(setup, item, run, thread, &states);
  }
  for (int64_t idx = 0; idx < num_heads; ++idx) {
    CarriedState state = states.Of(idx);
    StoreFinalState(setup, item.row, item.first_head + idx, has_moved, scratch, &state);
  }
}

}  // namespace

void ScanByHeads(const ScanSetup& setup, void* workspace) {
  const ScanSizes& sizes = setup.problem->sizes;
  const int64_t heads_per_item = setup.cut.heads_per_item;
  const int64_t items_per_row = (sizes.nheads + heads_per_item - 1) / heads_per_item;
  const int64_t num_items = NumScanRows(*setup.problem) * items_per_row;
  std::atomic<int64_t> next_item{0};
  ParallelFor(setup.schedule.executor, setup.schedule.num_threads, [&](int32_t thread_idx) {
    const ThreadBuffers thread = setup.Thread(workspace, thread_idx);
    for (int64_t item_idx = next_item++; item_idx < num_items; item_idx = next_item++) {
      const int64_t first_head = item_idx % items_per_row * heads_per_item;
      ScanItem(setup,
               {GetScanRow(*setup.problem, item_idx / items_per_row), first_head,
                std::min(first_head + heads_per_item, sizes.nheads)},
               thread);
    }
  });
}

}  // namespace tilescan::cpu
