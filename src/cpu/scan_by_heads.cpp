// The forward scan with rows and heads dealt out to the threads: each carries the states of its
// heads along the row. B, C and CB of a chunk are packed once for all its heads of a group.
#include <algorithm>
#include <atomic>

#include "cpu/scan_forward.h"
#include "cpu/scan_operands.h"
#include "cpu/scan_row.h"
#include "cpu/thread_pool.h"
#include "hwy/cache_control.h"

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

// One head through a chunk whose group's buffers are ready.
void AdvanceHead(const ScanSetup& setup, const Item& item, const Chunk& chunk, int64_t head_idx,
                 const ThreadBuffers& thread, CarriedState state, const NextX& next_x,
                 const float* next_state) {
  const HeadBuffers& head = thread.head;
  const HeadParameters parameters = GetHeadParameters(*setup.problem, head_idx, thread.D_row);
  LoadChunk(setup, item.row, chunk, head_idx, parameters, head);
  ComputeChunk(setup, item.row, chunk, head_idx, parameters, thread.group, thread, state.OrNull(),
               next_x);
  const int64_t position = chunk.first_token + chunk.num_tokens - item.row.first_token;
  const bool is_wanted = item.row.states_every != 0 && position % item.row.states_every == 0;
  const bool has_final = setup.problem->operands.final_states.present();
  if (position == item.row.num_tokens && !has_final && !is_wanted) return;
  setup.steps->pass_state(setup.shape, thread.group, head, chunk.num_tokens, state.OrNull(),
                          state.data, next_state);
  state.is_zero = false;
  if (is_wanted) StoreStateOut(setup, item.row, head_idx, position, head.rows, &state);
}

// All heads of the item through a run, a chunk at a time: x and out of a token lie side by side for
// all of them.
void AdvanceRun(const ScanSetup& setup, const Item& item, const TokenRun& run,
                const ThreadBuffers& thread, HeadStates* states) {
  const int64_t heads_per_group = setup.problem->sizes.nheads / setup.problem->sizes.ngroups;
  const int64_t num_chunks = NumChunks(run, setup.shape.chunk_size);
  for (int64_t chunk_idx = 0; chunk_idx < num_chunks; ++chunk_idx) {
    const Chunk chunk = GetChunk(run, setup.shape.chunk_size, chunk_idx);
    for (int64_t head_idx = item.first_head; head_idx < item.end_head; ++head_idx) {
      if (head_idx == item.first_head || head_idx % heads_per_group == 0) {
        PackGroup(setup, item.row, chunk, head_idx / heads_per_group, thread.head.rows,
                  thread.group);
      }
      NextX next_x;
      if (head_idx + 1 < item.end_head) {
        next_x = XOf(setup, item.row, chunk, head_idx + 1);
      } else if (chunk_idx + 1 < num_chunks) {
        next_x = XOf(setup, item.row, GetChunk(run, setup.shape.chunk_size, chunk_idx + 1),
                     item.first_head);
      }
      const int64_t idx = head_idx - item.first_head;
      const int64_t next_idx = (idx + 1) % (item.end_head - item.first_head);
      AdvanceHead(setup, item, chunk, head_idx, thread, states->Of(idx), next_x,
                  states->Of(next_idx).OrNull());
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
    hwy::FlushStream();  // what was stored past the caches is seen by whoever waits for this
  });
}

}  // namespace tilescan::cpu
