// A head's way through a block of chunks on the matrix unit. Products and vector work are
// interleaved: behind each step of a product stands a piece of what does not wait for it, so that
// the processor has both to do at any time. Such work is out of the product before, the state
// behind the product before, and all that the next chunk needs.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_BLOCK_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_BLOCK_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/scan_amx.h"
#include "cpu/kernels/scan_amx_out-inl.h"
#include "cpu/kernels/scan_amx_prepare-inl.h"
#include "cpu/kernels/scan_amx_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// Rows [first, end) of 16 of four tiles of a state (two by two): rounded for the next chunk's
// products, and multiplied by that chunk's decay, which its sums go on from.
inline void StepState(const AmxShape& shape, int64_t step, int64_t column_pair, float decay,
                      int64_t first, int64_t end, float* state, uint32_t* rounded) {
  const UnitTag d;
  const int64_t num_tiles = shape.headdim_tiles();
  const UnitVector factor = hn::Set(d, decay);
  for (int64_t tile = 2 * column_pair; tile < 2 * column_pair + 2; ++tile) {
    float* low = state + (2 * step * num_tiles + tile) * kTileElements;
    float* high = low + num_tiles * kTileElements;
    uint32_t* to = rounded + (step * num_tiles + tile) * kTileElements;
#pragma GCC unroll 4
    for (int64_t at = first * kTileColumns; at < end * kTileColumns; at += kUnitLanes) {
      const UnitVector state_0 = hn::Load(d, low + at);
      const UnitVector state_1 = hn::Load(d, high + at);
      hn::Store(PairOfRounded(state_0, state_1), PairTag(), to + at);
      hn::Store(hn::Mul(factor, state_0), d, low + at);
      hn::Store(hn::Mul(factor, state_1), d, high + at);
    }
  }
}

template <class Unit>
class AmxBlockScan {
 public:
  AmxBlockScan(const AmxShape& shape, AmxThreadBuffers* thread) : shape_(shape), thread_(*thread) {}

  void Run(const AmxHead& head, bool is_prepared, const AmxHead* next, int* parity) {
    is_plain_ = head.z.data == nullptr && head.out.element_stride == 1 &&
                shape_.headdim == shape_.padded_headdim;
    parity_ = *parity;
    chunk_ = ChunkOf(&head, 0, parity_);
    chunk_.next_x = XAfter(head, 0, next);
    if (!is_prepared) AmxPreparation(chunk_, thread_.rows).Finish();
    StartState();
    unit_.Begin();
    while (true) {
      StartPreparation(head, next);
      ScanChunk();
      if (chunk_.IsLast()) break;
      chunk_ = next_chunk_;
    }
    unit_.End();
    *parity = 1 - parity_;
  }

  // The sums of one state: those of a chunk whose state is decayed already.
  void AddToState(const AmxChunk& chunk, float* state) {
    unit_.Begin();
    for (int64_t step = 0; step < shape_.state_steps(); ++step) {
      for (int64_t pair = 0; pair < shape_.headdim_tiles() / 2; ++pair) {
        LoadStateTiles(state, step, pair);
        for (int64_t depth = 0; depth <= chunk.num_steps(); ++depth) {
          DotStateAt(chunk, step, pair, depth);
        }
        StoreStateTiles(state, step, pair);
      }
    }
    unit_.End();
  }

 private:
  AmxChunk ChunkOf(const AmxHead* head, int64_t chunk_idx, int parity) {
    AmxChunk chunk;
    chunk.shape = &shape_;
    chunk.head = head;
    chunk.chunk_idx = chunk_idx;
    chunk.buffers = &thread_.chunks[parity];
    return chunk;
  }
  // x of the chunk that comes after one.
  NextX XAfter(const AmxHead& head, int64_t chunk_idx, const AmxHead* next) const {
    const int64_t token = (chunk_idx + 1) * shape_.chunk_size;
    if (token < head.num_tokens) {
      return {RowsFrom(head.x, token), std::min(shape_.chunk_size, head.num_tokens - token)};
    }
    if (next == nullptr) return {};
    return {next->x, std::min(shape_.chunk_size, next->num_tokens)};
  }

  void StartPreparation(const AmxHead& head, const AmxHead* next) {
    if (!chunk_.IsLast()) {
      next_chunk_ = ChunkOf(&head, chunk_.chunk_idx + 1, 1 - parity_);
      next_chunk_.next_x = XAfter(head, next_chunk_.chunk_idx, next);
    } else {
      next_chunk_ = ChunkOf(next, 0, 1 - parity_);
      if (next != nullptr) next_chunk_.next_x = XAfter(*next, 0, nullptr);
    }
    preparation_ = AmxPreparation(next_chunk_, thread_.rows);
    const int64_t num_steps = chunk_.num_steps();
    const int64_t num_pairs = shape_.headdim_tiles() / 2;
    num_slots_ =
        num_pairs * (num_steps * (num_steps + 3) / 2 + (2 * num_steps + 1) * shape_.state_steps());
    preparation_credit_ = 0;
  }

  void StartState() {
    const float decay = chunk_.buffers->decays.decay[chunk_.num_tokens() - 1];
    for (int64_t step = 0; step < shape_.state_steps(); ++step) {
      for (int64_t pair = 0; pair < shape_.headdim_tiles() / 2; ++pair) {
        StepState(shape_, step, pair, decay, 0, kTileRows, chunk_.head->state, thread_.state);
      }
    }
  }

  // Behind each step of a product: a share of the next chunk's preparation, and of what waits for
  // the product before (num_pieces of it, to be over after num_slots).
  void Slot(int64_t num_slots) {
    preparation_credit_ += preparation_.num_pieces();
    while (preparation_credit_ >= num_slots_ && preparation_.num_left() > 0) {
      preparation_credit_ -= num_slots_;
      preparation_.DoPiece();
    }
    waiting_credit_ += kPiecesOfWaiting;
    while (waiting_credit_ >= num_slots) {
      waiting_credit_ -= num_slots;
      DoWaiting();
    }
  }
  void DoWaiting() {
    if (num_waiting_ == 0) return;
    const int64_t piece = kPiecesOfWaiting - num_waiting_--;
    if (waits_for_out_) {
      constexpr int64_t kRows = 2 * kTileRows / kPiecesOfWaiting;
      StoreOutRows<Unit>(out_tile_, is_plain_, piece * kRows, (piece + 1) * kRows);
    } else {
      constexpr int64_t kRows = kTileRows / kPiecesOfWaiting;
      StepState(shape_, state_step_, state_pair_, next_decay_, piece * kRows, (piece + 1) * kRows,
                chunk_.head->state, thread_.state);
    }
  }
  void FinishWaiting() {
    while (num_waiting_ > 0) DoWaiting();
    waiting_credit_ = 0;
  }

  void ScanChunk() {
    const int64_t num_pairs = shape_.headdim_tiles() / 2;
    for (int64_t step = 0; step < chunk_.num_steps(); ++step) {
      for (int64_t pair = 0; pair < num_pairs; ++pair) ComputeOutTile(step, pair);
    }
    // Its decay is known by now: that was the first piece.
    if (!chunk_.IsLast()) {
      if (preparation_.num_left() == preparation_.num_pieces()) preparation_.DoPiece();
      next_decay_ = next_chunk_.buffers->decays.decay[next_chunk_.num_tokens() - 1];
    }
    for (int64_t step = 0; step < shape_.state_steps(); ++step) {
      for (int64_t pair = 0; pair < num_pairs; ++pair) PassStateTile(step, pair);
    }
    preparation_.Finish();
    if (chunk_.IsLast()) FinishWaiting();
    if (!chunk_.IsLast()) parity_ = 1 - parity_;
  }

  void DotM(const uint32_t* M, int64_t step, int64_t pair, int64_t depth) {
    const int64_t row_stride = shape_.chunk_steps() * kTileElements;
    const uint32_t* left = M + 2 * step * row_stride + depth * kTileElements;
    const uint32_t* right =
        chunk_.buffers->x + (depth * shape_.headdim_tiles() + 2 * pair) * kTileElements;
    DotStep(unit_, left, left + row_stride, right, right + kTileElements);
  }

  void ComputeOutTile(int64_t step, int64_t pair) {
    const int64_t low_parts = NumLowParts(shape_);
    const int64_t num_slots = step + 2 + shape_.state_steps();
    const bool has_strong = chunk_.HasStrong(step);
    float* sums = thread_.sums + sums_idx_ * 8 * kTileElements;
    sums_idx_ = 1 - sums_idx_;
    ZeroSums(unit_);
    for (int64_t depth = 0; depth <= step; ++depth) {
      DotM(chunk_.buffers->M, step, pair, depth);
      Slot(num_slots);
    }
    DotM(chunk_.buffers->M + low_parts, step, pair, step);
    Slot(num_slots);
    // The state behind the chunk before must be rounded by now.
    if (!waits_for_out_) FinishWaiting();
    const int64_t row_stride = shape_.state_steps() * kTileElements;
    const uint32_t* C = chunk_.group().C + 2 * step * row_stride;
    for (int64_t depth = 0; depth < shape_.state_steps(); ++depth) {
      const uint32_t* right =
          thread_.state + (depth * shape_.headdim_tiles() + 2 * pair) * kTileElements;
      DotStep(unit_, C + depth * kTileElements, C + row_stride + depth * kTileElements, right,
              right + kTileElements);
      Slot(num_slots);
    }
    StoreSums(unit_, sums);
    if (has_strong) {
      ZeroSums(unit_);
      for (int64_t depth = 0; depth <= step; ++depth) {
        DotM(chunk_.buffers->M_strong, step, pair, depth);
      }
      DotM(chunk_.buffers->M_strong + low_parts, step, pair, step);
      StoreSums(unit_, sums + 4 * kTileElements);
    }
    FinishWaiting();
    out_tile_ = {chunk_,       step, pair, sums, has_strong ? sums + 4 * kTileElements : nullptr,
                 thread_.state};
    waits_for_out_ = true;
    num_waiting_ = kPiecesOfWaiting;
  }

  void LoadStateTiles(const float* state, int64_t step, int64_t pair) {
    const int64_t row_stride = shape_.headdim_tiles() * kTileElements;
    const float* tiles = state + 2 * step * row_stride + 2 * pair * kTileElements;
    unit_.template Load<0>(tiles);
    unit_.template Load<1>(tiles + kTileElements);
    unit_.template Load<2>(tiles + row_stride);
    unit_.template Load<3>(tiles + row_stride + kTileElements);
  }
  void StoreStateTiles(float* state, int64_t step, int64_t pair) {
    const int64_t row_stride = shape_.headdim_tiles() * kTileElements;
    float* tiles = state + 2 * step * row_stride + 2 * pair * kTileElements;
    unit_.template Store<0>(tiles);
    unit_.template Store<1>(tiles + kTileElements);
    unit_.template Store<2>(tiles + row_stride);
    unit_.template Store<3>(tiles + row_stride + kTileElements);
  }
  // right: a step of weighted x.
  void DotState(const AmxChunk& chunk, int64_t step, int64_t pair, int64_t depth,
                const uint32_t* right) {
    const int64_t row_stride = shape_.chunk_steps() * kTileElements;
    const uint32_t* left = chunk.group().BT + 2 * step * row_stride + depth * kTileElements;
    right += 2 * pair * kTileElements;
    DotStep(unit_, left, left + row_stride, right, right + kTileElements);
  }
  // The products of one depth, 0 to num_steps: the last is that of the low parts.
  void DotStateAt(const AmxChunk& chunk, int64_t step, int64_t pair, int64_t depth) {
    if (depth < chunk.num_steps()) {
      DotState(chunk, step, pair, depth,
               chunk.buffers->x_weighted + depth * shape_.headdim_tiles() * kTileElements);
    } else {
      DotState(chunk, step, pair, depth - 1, chunk.buffers->x_weighted_low);
    }
  }

  void PassStateTile(int64_t step, int64_t pair) {
    const int64_t num_steps = chunk_.num_steps();
    LoadStateTiles(chunk_.head->state, step, pair);
    for (int64_t depth = 0; depth <= num_steps; ++depth) {
      DotStateAt(chunk_, step, pair, depth);
      Slot(num_steps + 1);
    }
    StoreStateTiles(chunk_.head->state, step, pair);
    FinishWaiting();
    // The last state of a block stays as it is.
    if (chunk_.IsLast()) return;
    waits_for_out_ = false;
    state_step_ = step;
    state_pair_ = pair;
    num_waiting_ = kPiecesOfWaiting;
  }

  static constexpr int64_t kPiecesOfWaiting = 4;

  const AmxShape& shape_;
  AmxThreadBuffers& thread_;
  Unit unit_;
  bool is_plain_ = false;
  int parity_ = 0;
  AmxChunk chunk_;
  AmxChunk next_chunk_;
  AmxPreparation preparation_;
  int64_t num_slots_ = 1;
  int64_t preparation_credit_ = 0;
  int64_t waiting_credit_ = 0;
  int64_t num_waiting_ = 0;
  bool waits_for_out_ = true;
  AmxOutTile out_tile_;
  int64_t sums_idx_ = 0;
  int64_t state_step_ = 0;
  int64_t state_pair_ = 0;
  float next_decay_ = 1.0f;
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_BLOCK_INL_H_
