// compute_out: the carried state's term and the decayed, causal interaction of B and C with x.
#if defined(TILESCAN_CPU_KERNELS_SCAN_OUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_OUT_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_OUT_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_OUT_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_decay-inl.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// M from CB, for the tokens of the chunk. Which formula a row takes follows from the tokens up to
// it alone.
void WeighCB(const ChunkShape& shape, const GroupBuffers& group, const HeadBuffers& head, float D,
             int64_t num_tokens) {
  bool is_weak = true;
  for (int64_t i = 0; i < num_tokens; ++i) {
    const float* CB = group.CB + i * shape.padded_chunk;
    float* M = head.M + i * shape.padded_chunk;
    is_weak = is_weak && IsWeak(head, i);
    if (is_weak) {
      WeighWeakly(head, i, CB, M);
    } else {
      WeighCausal(head, i, CB, M);
    }
    M[i] += D;
  }
}

struct OutStripArguments {
  const ChunkShape* shape;
  const GroupBuffers* group;
  const HeadBuffers* head;
  const float* state;  // this strip of it; null: zero
  float* x;            // this strip of it; becomes out
  const float* D_row;  // this strip of it; null: none
  NextX next_x;        // this strip of it
  int64_t next_count;  // elements of a row of next_x
};

// out_i of kRows tokens and one strip.
template <int kRows, int kVectors>
HWY_INLINE void OutTile(const OutStripArguments& arguments, int64_t first_row) {
  const ChunkShape& shape = *arguments.shape;
  constexpr int64_t kWidth = kVectors * kLanes;
  // Spread over the tiles, so that few are on their way at a time.
  const int64_t end_next = std::min(first_row + kRows, arguments.next_x.num_tokens);
  for (int64_t row = first_row; row < end_next; ++row) {
    PrefetchRow(arguments.next_x.rows, row, arguments.next_count);
  }
  TileVector acc[kRows][kVectors];
  ZeroTile(acc);
  if (arguments.state != nullptr) {
    MultiplyAdd(arguments.group->C + first_row * shape.padded_dstate, shape.padded_dstate,
                arguments.state, kWidth, shape.dstate, acc);
    ScaleRows(arguments.head->decay + first_row, acc);
  }
  const float* M = arguments.head->M + first_row * shape.padded_chunk;
  MultiplyAdd(M, shape.padded_chunk, arguments.x, kWidth, first_row, acc);
  MultiplyAddDiagonal(M + first_row, shape.padded_chunk, arguments.x + first_row * kWidth, kWidth,
                      acc);
  float* out = arguments.x + first_row * kWidth;
  if (arguments.D_row != nullptr) AddProduct(arguments.D_row, out, kWidth, acc);
  StoreTile(acc, out, kWidth);
}

// The num_left < TileRows() rows at the end of a chunk.
template <int kRows, int kVectors>
HWY_INLINE void OutLastRows(const OutStripArguments& arguments, int64_t row, int64_t num_left) {
  if constexpr (kRows > 0) {
    if (num_left == kRows) return OutTile<kRows, kVectors>(arguments, row);
    OutLastRows<kRows - 1, kVectors>(arguments, row, num_left);
  }
}

// From the last row to the first: out takes the place of x, which later rows need and earlier ones
// do not.
template <int kVectors>
HWY_NOINLINE void OutStrip(const OutStripArguments& arguments, int64_t num_tokens) {
  constexpr int kRows = TileRows(kVectors);
  int64_t row = num_tokens - num_tokens % kRows;
  OutLastRows<kRows - 1, kVectors>(arguments, row, num_tokens - row);
  while (row > 0) {
    row -= kRows;
    OutTile<kRows, kVectors>(arguments, row);
  }
}

using OutStripFunction = void (*)(const OutStripArguments&, int64_t);
template <size_t... kIdx>
constexpr std::array<OutStripFunction, sizeof...(kIdx)> OutStrips(std::index_sequence<kIdx...>) {
  return {&OutStrip<kIdx + 1>...};
}
constexpr auto kOutStrip = OutStrips(std::make_index_sequence<kStripVectors>());

void ComputeOut(const ChunkShape& shape, const GroupBuffers& group, const HeadBuffers& head,
                const HeadParameters& parameters, const float* state, int64_t num_tokens,
                const NextX& next_x) {
  WeighCB(shape, group, head, parameters.D_row == nullptr ? parameters.D : 0.0f, num_tokens);
  for (int64_t strip_idx = 0; strip_idx < NumStrips(shape); ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes;
    OutStripArguments arguments;
    arguments.shape = &shape;
    arguments.group = &group;
    arguments.head = &head;
    arguments.state = state == nullptr ? nullptr : state + first * shape.dstate;
    arguments.x = head.x + first * shape.chunk_size;
    arguments.D_row = parameters.D_row == nullptr ? nullptr : parameters.D_row + first;
    arguments.next_x = next_x;
    if (next_x.num_tokens > 0) {
      arguments.next_x.rows = next_x.rows.From(first);
    }
    arguments.next_count = std::min(strip.num_vectors * kLanes, shape.headdim - first);
    kOutStrip[strip.num_vectors - 1](arguments, num_tokens);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_OUT_INL_H_
