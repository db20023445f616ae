// What the heads of a group share: B and C as factors for the matrix unit, and CB.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_GROUP_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_GROUP_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_GROUP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/scan_amx.h"
#include "cpu/kernels/scan_amx_pairs-inl.h"
#include "cpu/kernels/scan_amx_products-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// A row of B or C as floats, zeros where there is no token; (padded_dstate).
HWY_INLINE void LoadPaddedRow(const AmxShape& shape, const Rows& from, int64_t token,
                              int64_t num_tokens, float* to) {
  int64_t count = 0;
  if (token < num_tokens) {
    count = shape.dstate;
    LoadRow(from.At(token), from.dtype, from.element_stride, count, to);
  }
  std::fill(to + count, to + shape.padded_dstate, 0.0f);
}

// 16 rows as left tiles (dstate / 32).
inline void PackRows(const AmxShape& shape, const Rows& from, int64_t first_token,
                     int64_t num_tokens, float* row, uint32_t* to) {
  for (int64_t idx = 0; idx < kTileRows; ++idx) {
    LoadPaddedRow(shape, from, first_token + idx, num_tokens, row);
    for (int64_t step = 0; step < shape.state_steps(); ++step) {
      StorePairRow(row + step * kTileDepth, row + step * kTileDepth + 16,
                   to + step * kTileElements + idx * kTileColumns);
    }
  }
}

// 32 rows of B as left tiles of B transposed, for one step of the chunk.
inline void PackTransposed(const AmxShape& shape, const Rows& B, int64_t step, int64_t num_tokens,
                           float* rows, uint32_t* tiles, uint32_t* BT) {
  float* low = rows;
  float* high = rows + shape.padded_dstate;
  const int64_t num_tiles = shape.padded_dstate / kTileColumns;
  for (int64_t idx = 0; idx < kTileRows; ++idx) {
    const int64_t token = step * kTileDepth + idx;
    LoadPaddedRow(shape, B, token, num_tokens, low);
    LoadPaddedRow(shape, B, token + 16, num_tokens, high);
    for (int64_t tile = 0; tile < num_tiles; ++tile) {
      StorePairRow(low + tile * kTileColumns, high + tile * kTileColumns,
                   tiles + tile * kTileElements + idx * kTileColumns);
    }
  }
  for (int64_t tile = 0; tile < num_tiles; ++tile) {
    TransposeTile(tiles + tile * kTileElements,
                  BT + (tile * shape.chunk_steps() + step) * kTileElements);
  }
}

// Two by two tiles of CB from sums (2, 2) to their place, zeros right of the diagonal.
inline void StoreCB(const AmxShape& shape, const float* sums, int64_t row_pair, int64_t step,
                    float* CB) {
  const UnitTag d;
  for (int64_t row = 0; row < 2 * kTileRows; ++row) {
    const int64_t i = row_pair * 2 * kTileRows + row;
    float* to = CB + ((i / kTileRows) * shape.chunk_steps() + step) * 2 * kTileElements +
                (i % kTileRows) * kTileDepth;
    const float* from =
        sums + (row / kTileRows) * 2 * kTileElements + (row % kTileRows) * kTileColumns;
    for (int64_t column = 0; column < kTileDepth; column += kUnitLanes) {
      const auto value =
          hn::Load(d, from + (column / kTileColumns) * kTileElements + column % kTileColumns);
      const int64_t num_causal =
          std::clamp<int64_t>(i + 1 - step * kTileDepth - column, 0, kUnitLanes);
      const auto is_causal = hn::FirstN(d, static_cast<size_t>(num_causal));
      hn::Store(hn::IfThenElseZero(is_causal, value), d, to + column);
    }
  }
}

template <class Unit>
void PackAmxGroup(const AmxShape& shape, const Rows& B, const Rows& C, int64_t num_tokens,
                  const AmxThreadBuffers& thread, const AmxGroupBuffers& group) {
  const int64_t num_steps = shape.chunk_steps();
  const int64_t row_tiles = shape.state_steps();  // tiles of 16 rows of C or B
  for (int64_t step = 0; step < num_steps; ++step) {
    PackTransposed(shape, B, step, num_tokens, thread.rows, thread.group_tiles, group.BT);
    for (int64_t half = 0; half < 2; ++half) {
      PackRows(shape, C, step * kTileDepth + half * kTileRows, num_tokens, thread.rows,
               group.C + (2 * step + half) * row_tiles * kTileElements);
    }
  }
  Unit unit;
  unit.Begin();
  for (int64_t step = 0; step < num_steps; ++step) {
    // Right tiles (dstate / 32, 2) of 32 tokens of B.
    uint32_t* as_left = thread.group_tiles;
    uint32_t* as_right = thread.group_tiles + 2 * row_tiles * kTileElements;
    for (int64_t half = 0; half < 2; ++half) {
      PackRows(shape, B, step * kTileDepth + half * kTileRows, num_tokens, thread.rows, as_left);
      for (int64_t depth = 0; depth < row_tiles; ++depth) {
        TransposeTile(as_left + depth * kTileElements,
                      as_right + (2 * depth + half) * kTileElements);
      }
    }
    for (int64_t row_pair = step; row_pair < num_steps; ++row_pair) {
      ZeroSums(unit);
      const uint32_t* left = group.C + 2 * row_pair * row_tiles * kTileElements;
      for (int64_t depth = 0; depth < row_tiles; ++depth) {
        DotStep(unit, left + depth * kTileElements, left + (row_tiles + depth) * kTileElements,
                as_right + 2 * depth * kTileElements, as_right + (2 * depth + 1) * kTileElements);
      }
      StoreSums(unit, thread.sums);
      StoreCB(shape, thread.sums, row_pair, step, group.CB);
    }
  }
  unit.End();
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_GROUP_INL_H_
