// The forward scan for few heads and long rows: the threads share the chunks of a row, a block of
// chunks at a time, in four steps that each end before the next begins:
//   1. B, C and CB of each group and chunk;
//   2. each head and chunk's contribution to the state, as from a zero state;
//   3. each head's states passed through the block's chunks by the jump formula;
//   4. out of each head and chunk, from the state before it.
#include <algorithm>
#include <atomic>
#include <utility>

#include "cpu/scan_forward.h"
#include "cpu/scan_operands.h"
#include "cpu/scan_row.h"
#include "cpu/thread_pool.h"
#include "hwy/cache_control.h"

namespace tilescan::cpu {
namespace {

class ChunkScan {
 public:
  ChunkScan(const ScanSetup& setup, void* workspace)
      : setup_(setup), workspace_(workspace), shared_(setup.Shared(workspace)) {}

  void ScanRow(const tilescan::ScanRow& row) {
    row_ = row;
    is_zero_ = !setup_.problem->operands.initial_states.present();
    ForEach(num_heads(), [&](int64_t head_idx, const ThreadBuffers& thread) {
      CarriedState state = StateOf(head_idx);
      LoadInitialState(setup_, row_, head_idx, thread.head.rows, &state);
    });
    bool has_moved = false;
    RunCursor cursor(*setup_.problem, row_);
    for (TokenRun run; cursor.NextRun(&run);) {
      if (run.is_padding) {
        ForEach(num_heads(), [&](int64_t head_idx, const ThreadBuffers& thread) {
          CarriedState state = StateOf(head_idx);
          PassPadding(setup_, row_, run, head_idx, thread.head.rows, &state);
        });
        continue;
      }
      if (run.starts_from_zero) is_zero_ = true;
      has_moved = true;
      ScanRun(run);
    }
    ForEach(num_heads(), [&](int64_t head_idx, const ThreadBuffers& thread) {
      CarriedState state = StateOf(head_idx);
      StoreFinalState(setup_, row_, head_idx, has_moved, thread.head.rows, &state);
    });
  }

 private:
  int64_t num_heads() const { return setup_.problem->sizes.nheads; }
  CarriedState StateOf(int64_t head_idx) const {
    return {shared_.states + head_idx * StateElements(setup_.shape), is_zero_};
  }
  int64_t HeadChunk(int64_t head_idx, int64_t chunk_idx) const {
    return head_idx * setup_.cut.chunks_per_block + chunk_idx;
  }
  float* StateBefore(int64_t head_idx, int64_t chunk_idx) const {
    return shared_.before + HeadChunk(head_idx, chunk_idx) * StateElements(setup_.shape);
  }
  const GroupBuffers& GroupOf(int64_t head_idx, int64_t chunk_idx) const {
    const int64_t group_idx = head_idx / (num_heads() / setup_.problem->sizes.ngroups);
    return shared_.groups[group_idx * setup_.cut.chunks_per_block + chunk_idx];
  }

  // body(item_idx, thread buffers) for each of num_items items, on the threads.
  template <typename Body>
  void ForEach(int64_t num_items, const Body& body) {
    std::atomic<int64_t> next_item{0};
    ParallelFor(setup_.schedule.executor, setup_.schedule.num_threads, [&](int32_t thread_idx) {
      const ThreadBuffers thread = setup_.Thread(workspace_, thread_idx);
      for (int64_t item_idx = next_item++; item_idx < num_items; item_idx = next_item++) {
        body(item_idx, thread);
      }
      hwy::FlushStream();  // what was stored past the caches is seen by whoever waits for this
    });
  }

  void ScanRun(const TokenRun& run) {
    const int64_t chunk_size = setup_.shape.chunk_size;
    const int64_t block_tokens = setup_.cut.chunks_per_block * chunk_size;
    for (int64_t offset = 0; offset < run.num_tokens; offset += block_tokens) {
      TokenRun block;
      block.first_token = run.first_token + offset;
      block.num_tokens = std::min(block_tokens, run.num_tokens - offset);
      ScanBlock(block);
    }
  }

  void ScanBlock(const TokenRun& block) {
    const int64_t chunk_size = setup_.shape.chunk_size;
    const int64_t num_chunks = NumChunks(block, chunk_size);
    ForEach(setup_.problem->sizes.ngroups * num_chunks, [&](int64_t item_idx,
                                                            const ThreadBuffers& thread) {
      const int64_t group_idx = item_idx / num_chunks;
      const int64_t chunk_idx = item_idx % num_chunks;
      PackGroup(setup_, row_, GetChunk(block, chunk_size, chunk_idx), group_idx, thread.head.rows,
                shared_.groups[group_idx * setup_.cut.chunks_per_block + chunk_idx]);
    });
    ForEach(num_heads() * num_chunks, [&](int64_t item_idx, const ThreadBuffers& thread) {
      const int64_t chunk_idx = item_idx % num_chunks;
      ContributeChunk(GetChunk(block, chunk_size, chunk_idx), item_idx / num_chunks, chunk_idx,
                      thread);
    });
    ForEach(num_heads(), [&](int64_t head_idx, const ThreadBuffers& thread) {
      PassThroughBlock(block, head_idx, thread);
    });
    ForEach(num_heads() * num_chunks, [&](int64_t item_idx, const ThreadBuffers& thread) {
      const int64_t chunk_idx = item_idx % num_chunks;
      OutOfChunk(GetChunk(block, chunk_size, chunk_idx), item_idx / num_chunks, chunk_idx, thread);
    });
    is_zero_ = false;
  }

  // Step 2: the contribution waits where the state before the chunk will be.
  void ContributeChunk(const Chunk& chunk, int64_t head_idx, int64_t chunk_idx,
                       const ThreadBuffers& thread) {
    const HeadParameters parameters = GetHeadParameters(*setup_.problem, head_idx, thread.D_row);
    const HeadBuffers& head = thread.head;
    LoadChunk(setup_, row_, chunk, head_idx, parameters, head);
    setup_.steps->weigh_x(setup_.shape, head, chunk.num_tokens);
    setup_.steps->pass_state(setup_.shape, GroupOf(head_idx, chunk_idx), head, chunk.num_tokens,
                             nullptr, StateBefore(head_idx, chunk_idx), /*next_state=*/nullptr);
    shared_.chunk_decay[HeadChunk(head_idx, chunk_idx)] = head.decay[chunk.num_tokens - 1];
  }

  // Step 4.
  void OutOfChunk(const Chunk& chunk, int64_t head_idx, int64_t chunk_idx,
                  const ThreadBuffers& thread) {
    const HeadParameters parameters = GetHeadParameters(*setup_.problem, head_idx, thread.D_row);
    LoadChunk(setup_, row_, chunk, head_idx, parameters, thread.head);
    const bool from_zero = is_zero_ && chunk_idx == 0;
    ComputeChunk(setup_, row_, chunk, head_idx, parameters, GroupOf(head_idx, chunk_idx), thread,
                 from_zero ? nullptr : StateBefore(head_idx, chunk_idx), NextX());
  }

  // Step 3: each contribution is replaced by the state before its chunk, and the head's state ends
  // as that after the block.
  void PassThroughBlock(const TokenRun& block, int64_t head_idx, const ThreadBuffers& thread) {
    const int64_t elements = StateElements(setup_.shape);
    const int64_t num_chunks = NumChunks(block, setup_.shape.chunk_size);
    CarriedState state = StateOf(head_idx);
    for (int64_t chunk_idx = 0; chunk_idx < num_chunks; ++chunk_idx) {
      float* before = StateBefore(head_idx, chunk_idx);
      if (state.is_zero) {
        std::copy_n(before, elements, state.data);
        state.is_zero = false;
      } else {
        setup_.steps->add_decayed(setup_.shape, shared_.chunk_decay[HeadChunk(head_idx, chunk_idx)],
                                  state.data, before, thread.partial_state);
        std::copy_n(state.data, elements, before);
        std::copy_n(thread.partial_state, elements, state.data);
      }
      const Chunk chunk = GetChunk(block, setup_.shape.chunk_size, chunk_idx);
      const int64_t position = chunk.first_token + chunk.num_tokens - row_.first_token;
      if (row_.states_every != 0 && position % row_.states_every == 0) {
        StoreStateOut(setup_, row_, head_idx, position, thread.head.rows, &state);
      }
    }
  }

  const ScanSetup& setup_;
  void* workspace_;
  SharedBuffers shared_;
  tilescan::ScanRow row_;
  bool is_zero_ = true;  // of the states of all heads, at the place the scan has come to
};

}  // namespace

void ScanByChunks(const ScanSetup& setup, void* workspace) {
  ChunkScan scan(setup, workspace);
  for (int64_t row_idx = 0; row_idx < NumScanRows(*setup.problem); ++row_idx) {
    scan.ScanRow(GetScanRow(*setup.problem, row_idx));
  }
}

}  // namespace tilescan::cpu
