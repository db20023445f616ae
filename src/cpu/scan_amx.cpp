#include "cpu/scan_amx.h"

#include <algorithm>
#include <atomic>

#include "cpu/scan_amx_setup.h"
#include "cpu/scan_operands.h"
#include "cpu/scan_states.h"
#include "cpu/thread_pool.h"
#include "hwy/cache_control.h"

namespace tilescan::cpu {
namespace {

// A row on all threads, or on one.
class RowScan {
 public:
  // thread_idx: the only thread; -1: all of them.
  RowScan(const AmxSetup& setup, void* workspace, int32_t thread_idx)
      : setup_(setup),
        workspace_(workspace),
        thread_idx_(thread_idx),
        buffers_(setup.Row(workspace, std::max(thread_idx, 0))) {}

  void Scan(const ScanRow& row) {
    row_ = row;
    is_zero_ = !operands().initial_states.present();
    if (!is_zero_) {
      ForEach(num_heads(), [&](int64_t head_idx, const AmxThreadBuffers& thread) {
        CarriedState state = StateOf(head_idx);
        LoadInitialState(setup_, row_, head_idx, thread.rows, &state);
      });
    }
    bool has_moved = false;
    RunCursor cursor(*setup_.problem, row_);
    for (TokenRun run; cursor.NextRun(&run);) {
      if (run.is_padding) {
        ForEach(num_heads(), [&](int64_t head_idx, const AmxThreadBuffers& thread) {
          CarriedState state = StateOf(head_idx);
          PassPadding(setup_, row_, run, head_idx, thread.rows, &state);
        });
        continue;
      }
      if (run.starts_from_zero) is_zero_ = true;
      has_moved = true;
      ScanRun(run);
    }
    if (!operands().final_states.present()) return;
    ForEach(num_heads(), [&](int64_t head_idx, const AmxThreadBuffers& thread) {
      CarriedState state = StateOf(head_idx);
      StoreFinalState(setup_, row_, head_idx, has_moved, thread.rows, &state);
    });
  }

 private:
  const ScanForwardOperands& operands() const { return setup_.problem->operands; }
  int64_t num_heads() const { return setup_.problem->sizes.nheads; }
  CarriedState StateOf(int64_t head_idx) const {
    return {buffers_.states + head_idx * setup_.shape.state_elements(), is_zero_};
  }

  // body(thread buffers) on each of the threads.
  template <typename Body>
  void OnThreads(const Body& body) {
    if (thread_idx_ >= 0) {
      AmxThreadBuffers thread = setup_.Thread(workspace_, thread_idx_);
      return body(&thread);
    }
    ParallelFor(setup_.schedule.executor, setup_.schedule.num_threads, [&](int32_t thread_idx) {
      AmxThreadBuffers thread = setup_.Thread(workspace_, thread_idx);
      body(&thread);
    });
  }

  // body(item_idx, thread buffers) for each of num_items items.
  template <typename Body>
  void ForEach(int64_t num_items, const Body& body) {
    std::atomic<int64_t> next_item{0};
    OnThreads([&](AmxThreadBuffers* thread) {
      for (int64_t item_idx = next_item++; item_idx < num_items; item_idx = next_item++) {
        body(item_idx, *thread);
      }
    });
  }

  // Where states are wanted inside or at the end of a chunk, a block ends with it.
  void ScanRun(const TokenRun& run) {
    const int64_t chunk_size = setup_.shape.chunk_size;
    const int64_t most_tokens = setup_.shape.chunks_per_block * chunk_size;
    for (int64_t offset = 0; offset < run.num_tokens;) {
      TokenRun block;
      block.first_token = run.first_token + offset;
      block.num_tokens = std::min(most_tokens, run.num_tokens - offset);
      const int64_t wanted = NextWanted(block.first_token) - block.first_token;
      if (wanted < block.num_tokens) {
        const int64_t before = wanted / chunk_size * chunk_size;
        block.num_tokens = before > 0 ? before : std::min(chunk_size, block.num_tokens);
      }
      ScanBlock(block);
      offset += block.num_tokens;
    }
  }

  // The first token behind `token` after which a state is wanted: there is a state after the
  // tokens before it.
  int64_t NextWanted(int64_t token) const {
    if (row_.states_every == 0) return INT64_MAX;
    const int64_t left = row_.states_every - (token - row_.first_token) % row_.states_every;
    return left > INT64_MAX - token ? INT64_MAX : token + left;
  }

  void ScanBlock(const TokenRun& block) {
    const int64_t chunk_size = setup_.shape.chunk_size;
    const int64_t num_chunks = (block.num_tokens + chunk_size - 1) / chunk_size;
    ForEach(setup_.problem->sizes.ngroups * num_chunks,
            [&](int64_t item_idx, const AmxThreadBuffers& thread) {
              PackChunk(block, item_idx / num_chunks, item_idx % num_chunks, thread);
            });
    std::atomic<int64_t> next_head{0};
    OnThreads([&](AmxThreadBuffers* thread) { ScanHeads(block, &next_head, thread); });
    is_zero_ = false;
  }

  void PackChunk(const TokenRun& block, int64_t group_idx, int64_t chunk_idx,
                 const AmxThreadBuffers& thread) {
    const int64_t offset = chunk_idx * setup_.shape.chunk_size;
    const int64_t token = block.first_token + offset;
    setup_.steps->pack_group(
        setup_.shape, TokenRows(operands().B, row_.batch_idx, token, group_idx),
        TokenRows(operands().C, row_.batch_idx, token, group_idx),
        std::min(setup_.shape.chunk_size, block.num_tokens - offset), thread,
        buffers_.groups[group_idx * setup_.shape.chunks_per_block + chunk_idx]);
  }

  AmxHead HeadOf(const TokenRun& block, int64_t head_idx, float* D_row) const {
    const int64_t heads_per_group = num_heads() / setup_.problem->sizes.ngroups;
    AmxHead head;
    const auto rows_of = [&](const TensorView& view) {
      return TokenRows(view, row_.batch_idx, block.first_token, head_idx);
    };
    head.x = rows_of(operands().x);
    head.dt = rows_of(operands().dt);
    head.z = rows_of(operands().z);
    head.out = rows_of(operands().out);
    head.num_tokens = block.num_tokens;
    head.parameters = GetHeadParameters(*setup_.problem, head_idx, D_row);
    head.groups = buffers_.groups + head_idx / heads_per_group * setup_.shape.chunks_per_block;
    head.state = StateOf(head_idx).data;
    constexpr uintptr_t kLineBytes = 64;
    head.past_caches =
        setup_.past_caches && reinterpret_cast<uintptr_t>(head.out.data) % kLineBytes == 0 &&
        static_cast<uintptr_t>(head.out.row_stride * ElementBytes(head.out.dtype)) % kLineBytes ==
            0;
    return head;
  }

  // One head after another, each prepared while the one before it is computed.
  void ScanHeads(const TokenRun& block, std::atomic<int64_t>* next_head, AmxThreadBuffers* thread) {
    int parity = 0;
    bool is_prepared = false;
    int64_t head_idx = (*next_head)++;
    int D_row_idx = 0;
    AmxHead head;
    if (head_idx < num_heads()) head = HeadOf(block, head_idx, thread->D_row[0]);
    while (head_idx < num_heads()) {
      const int64_t next_idx = (*next_head)++;
      const bool has_next = next_idx < num_heads();
      D_row_idx = 1 - D_row_idx;
      AmxHead next;
      if (has_next) next = HeadOf(block, next_idx, thread->D_row[D_row_idx]);
      CarriedState state = StateOf(head_idx);
      state.Materialise(setup_.shape.state_elements());
      StoreStatesInside(block, head_idx, head, thread, parity);
      setup_.steps->scan_block(setup_.shape, head, is_prepared, has_next ? &next : nullptr, thread,
                               &parity);
      const int64_t position = block.first_token + block.num_tokens - row_.first_token;
      if (row_.states_every != 0 && position % row_.states_every == 0) {
        StoreStateOut(setup_, row_, head_idx, position, thread->rows, &state);
      }
      is_prepared = has_next;
      head_idx = next_idx;
      head = next;
    }
    hwy::FlushStream();  // what was stored past the caches is seen by whoever waits for this
  }

  // The states that are wanted inside of a block, which then is one chunk.
  void StoreStatesInside(const TokenRun& block, int64_t head_idx, const AmxHead& head,
                         AmxThreadBuffers* thread, int parity) {
    for (int64_t token = NextWanted(block.first_token);
         token < block.first_token + block.num_tokens; token += row_.states_every) {
      setup_.steps->pass_state(setup_.shape, head, token - block.first_token, thread, parity);
      CarriedState partial{thread->partial_state, false};
      StoreStateOut(setup_, row_, head_idx, token - row_.first_token, thread->rows, &partial);
    }
  }

  const AmxSetup& setup_;
  void* workspace_;
  int32_t thread_idx_;
  RowBuffers buffers_;
  ScanRow row_;
  bool is_zero_ = true;  // of the states of all heads, at the place the scan has come to
};

}  // namespace

void ScanOnMatrixUnit(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                      const Launch& launch) {
  const AmxSetup setup = MakeAmxSetup(problem, steps, launch.schedule);
  const int64_t num_rows = NumScanRows(problem);
  if (!setup.by_rows) {
    RowScan scan(setup, launch.workspace, -1);
    for (int64_t row_idx = 0; row_idx < num_rows; ++row_idx)
      scan.Scan(GetScanRow(problem, row_idx));
    return;
  }
  std::atomic<int64_t> next_row{0};
  ParallelFor(launch.schedule.executor, launch.schedule.num_threads, [&](int32_t thread_idx) {
    RowScan scan(setup, launch.workspace, thread_idx);
    for (int64_t row_idx = next_row++; row_idx < num_rows; row_idx = next_row++) {
      scan.Scan(GetScanRow(problem, row_idx));
    }
  });
}

}  // namespace tilescan::cpu
