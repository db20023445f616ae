// What the heads of a group share: C, B transposed, and CB = C B^T up to the diagonal.
#if defined(TILESCAN_CPU_KERNELS_SCAN_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_GROUP_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_GROUP_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_GROUP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"
#include "cpu/kernels/simd_rows-inl.h"
#include "cpu/kernels/simd_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// CB in tiles of rows and of columns up to the diagonal.
template <int kRows>
void MultiplyCB(const ChunkShape& shape, const GroupBuffers& group, int64_t first_row) {
  for (int64_t column = 0; column < first_row + kRows; column += kStripWidth) {
    TileVector acc[kRows][kStripVectors];
    ZeroTile(acc);
    MultiplyAdd(group.C + first_row * shape.padded_dstate, shape.padded_dstate, group.BT + column,
                shape.padded_chunk, shape.dstate, acc);
    StoreTile(acc, group.CB + first_row * shape.padded_chunk + column, shape.padded_chunk);
  }
}

void PackGroup(const ChunkShape& shape, const Rows& B, const Rows& C, int64_t num_tokens,
               float* rows, const GroupBuffers& group) {
  for (int64_t token = 0; token < num_tokens; ++token) {
    LoadRow(C.At(token), C.dtype, C.element_stride, shape.dstate,
            group.C + token * shape.padded_dstate);
  }
  // BT has room for whole fours of tokens.
  for (int64_t first = 0; first < num_tokens; first += 4) {
    for (int64_t token = first; token < std::min(first + 4, num_tokens); ++token) {
      LoadRow(B.At(token), B.dtype, B.element_stride, shape.dstate,
              rows + (token - first) * shape.padded_dstate);
    }
    TransposeFourRows(rows, shape.padded_dstate, shape.dstate, group.BT + first,
                      shape.padded_chunk);
  }
  constexpr int kRows = TileRows(kStripVectors);
  int64_t first_row = 0;
  for (; first_row + kRows <= num_tokens; first_row += kRows) {
    MultiplyCB<kRows>(shape, group, first_row);
  }
  for (; first_row < num_tokens; ++first_row) MultiplyCB<1>(shape, group, first_row);
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_GROUP_INL_H_
