// pass_state: the state behind a chunk by the jump formula; and states in and out.
#if defined(TILESCAN_CPU_KERNELS_SCAN_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_STATE_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_STATE_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_STATE_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_decay-inl.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"
#include "cpu/kernels/simd_rows-inl.h"
#include "cpu/kernels/simd_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

struct StateStripArguments {
  const ChunkShape* shape;
  const float* BT;
  const float* x_weighted;  // this strip of it
  float decay;
  const float* before;  // this strip of it; null: zero
  float* after;         // this strip of it
  const float* next;    // this strip of the state that comes next; null: not known
};

// H' of kRows rows of dstate and one strip.
template <int kRows, int kVectors>
HWY_INLINE void StateTile(const StateStripArguments& arguments, int64_t first_row,
                          int64_t num_tokens) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const int64_t padded_chunk = arguments.shape->padded_chunk;
  if (arguments.next != nullptr) {
    constexpr int64_t kLineElements = 16;
    const float* next = arguments.next + first_row * kWidth;
    for (int64_t idx = 0; idx < kRows * kWidth; idx += kLineElements) {
      __builtin_prefetch(next + idx, /*rw=*/0, /*locality=*/2);
    }
  }
  TileVector acc[kRows][kVectors];
  ZeroTile(acc);
  MultiplyAdd(arguments.BT + first_row * padded_chunk, padded_chunk, arguments.x_weighted, kWidth,
              num_tokens, acc);
  float* after = arguments.after + first_row * kWidth;
  if (arguments.before == nullptr) {
    StoreTile(acc, after, kWidth);
  } else {
    StoreTileOverDecayed(acc, arguments.decay, arguments.before + first_row * kWidth, after,
                         kWidth);
  }
}

template <int kVectors>
HWY_NOINLINE void StateStrip(const StateStripArguments& arguments, int64_t num_tokens) {
  constexpr int kRows = TileRows(kVectors);
  const int64_t dstate = arguments.shape->dstate;
  int64_t row = 0;
  for (; row + kRows <= dstate; row += kRows) {
    StateTile<kRows, kVectors>(arguments, row, num_tokens);
  }
  for (; row + 2 <= dstate; row += 2) StateTile<2, kVectors>(arguments, row, num_tokens);
  if (row < dstate) StateTile<1, kVectors>(arguments, row, num_tokens);
}

using StateStripFunction = void (*)(const StateStripArguments&, int64_t);
template <size_t... kIdx>
constexpr std::array<StateStripFunction, sizeof...(kIdx)> StateStrips(
    std::index_sequence<kIdx...>) {
  return {&StateStrip<kIdx + 1>...};
}
constexpr auto kStateStrip = StateStrips(std::make_index_sequence<kStripVectors>());

// exp(a_last - a_j) dt_j, and x times it.
void WeighX(const ChunkShape& shape, const HeadBuffers& head, int64_t num_tokens) {
  const TileTag d;
  WeighCausal(head, num_tokens - 1, nullptr, head.weight);
  for (int64_t strip_idx = 0; strip_idx < NumStrips(shape); ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes * shape.chunk_size;
    for (int64_t j = 0; j < num_tokens; ++j) {
      const TileVector weight = hn::Set(d, head.weight[j]);
      for (int64_t vector = j * strip.num_vectors; vector < (j + 1) * strip.num_vectors; ++vector) {
        const int64_t offset = first + vector * kLanes;
        hn::Store(hn::Mul(weight, hn::Load(d, head.x + offset)), d, head.x_weighted + offset);
      }
    }
  }
}

void PassState(const ChunkShape& shape, const GroupBuffers& group, const HeadBuffers& head,
               int64_t num_tokens, const float* state_before, float* state_after,
               const float* next_state) {
  for (int64_t strip_idx = 0; strip_idx < NumStrips(shape); ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes;
    StateStripArguments arguments;
    arguments.shape = &shape;
    arguments.BT = group.BT;
    arguments.x_weighted = head.x_weighted + first * shape.chunk_size;
    arguments.decay = head.decay[num_tokens - 1];
    arguments.before = state_before == nullptr ? nullptr : state_before + first * shape.dstate;
    arguments.after = state_after + first * shape.dstate;
    arguments.next = next_state == nullptr ? nullptr : next_state + first * shape.dstate;
    kStateStrip[strip.num_vectors - 1](arguments, num_tokens);
  }
}

void AddDecayed(const ChunkShape& shape, float factor, const float* state_before,
                const float* contribution, float* state_after) {
  const TileTag d;
  const TileVector decay = hn::Set(d, factor);
  for (int64_t idx = 0; idx < shape.dstate * shape.padded_headdim; idx += kLanes) {
    const TileVector before = hn::Load(d, state_before + idx);
    hn::Store(hn::MulAdd(decay, before, hn::Load(d, contribution + idx)), d, state_after + idx);
  }
}

// body(first, num_columns, at, width) for each four columns of a state, or fewer at the end of a
// strip: columns first to first + num_columns of headdim stand at `at` and in the columns behind
// it, their elements of dstate width apart.
template <class Body>
HWY_INLINE void ForFourColumns(const ChunkShape& shape, const Body& body) {
  for (int64_t strip_idx = 0; strip_idx < NumStrips(shape); ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes;
    const int64_t width = strip.num_vectors * kLanes;
    for (int64_t column = 0; column < width; column += 4) {
      body(first + column, std::min<int64_t>(4, width - column), first * shape.dstate + column,
           width);
    }
  }
}

void LoadState(const ChunkShape& shape, const Rows& from, float* rows, float* state) {
  ForFourColumns(shape, [&](int64_t first, int64_t num_columns, int64_t at, int64_t width) {
    for (int64_t k = 0; k < num_columns; ++k) {
      float* row = rows + k * shape.padded_dstate;
      if (first + k < shape.headdim) {
        LoadRow(from.At(first + k), from.dtype, from.element_stride, shape.dstate, row);
      } else {
        std::fill(row, row + shape.dstate, 0.0f);
      }
    }
    if (num_columns == 4) {
      TransposeFourRows(rows, shape.padded_dstate, shape.dstate, state + at, width);
      return;
    }
    for (int64_t k = 0; k < num_columns; ++k) {
      for (int64_t n = 0; n < shape.dstate; ++n) {
        state[at + n * width + k] = rows[k * shape.padded_dstate + n];
      }
    }
  });
}

void StoreState(const ChunkShape& shape, const float* state, float* rows, const Rows& to) {
  ForFourColumns(shape, [&](int64_t first, int64_t num_columns, int64_t at, int64_t width) {
    if (num_columns == 4) {
      TransposeFourColumns(state + at, width, shape.dstate, rows, shape.padded_dstate);
    } else {
      for (int64_t k = 0; k < num_columns; ++k) {
        for (int64_t n = 0; n < shape.dstate; ++n) {
          rows[k * shape.padded_dstate + n] = state[at + n * width + k];
        }
      }
    }
    for (int64_t k = 0; k < num_columns && first + k < shape.headdim; ++k) {
      StoreRow(rows + k * shape.padded_dstate, shape.dstate, to.dtype, to.At(first + k),
               to.element_stride);
    }
  });
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_STATE_INL_H_
