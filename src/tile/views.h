// Views of bf16 operands that the compiler turns into TMA loads and stores where there is TMA: 16-
// byte aligned, the last dimension compact and a multiple of 8, the other strides multiples of 8
// elements, all indices and strides 32-bit. (With 64-bit ones, or another last dimension, it falls
// back to single elements.)
//
// A program that loads through these does not load through tiles of pointers as well: on sm_90 one
// that does hangs (nvcc 13.5.37, H200). Single elements and stores are no trouble.
//
// The code for sm_90 (nvcc 13.5.37) has one warp that makes all loads of a program, and waits for
// each before it asks for the next, whatever the hints: what a loop costs is the number of its
// loads, so a load brings as much as there is room for.
//
// Hints of kernels are for 900, where they were measured; others are left to the compiler. (It
// crashes on one for sm_120 whose shared memory cannot be had.)
#ifndef TILESCAN_TILE_VIEWS_H_
#define TILESCAN_TILE_VIEWS_H_

#include "tile/chunk_size.h"
#include "tile/tiles.h"

namespace tilescan::tile {

inline constexpr size_t kAnyExtent = ct::dynamic_extent;
using Extents4 = ct::extents<int32_t, kAnyExtent, kAnyExtent, kAnyExtent, kAnyExtent>;
using RowStrides4 = ct::strides<int32_t, kAnyExtent, kAnyExtent, kAnyExtent, 1>;

template <typename TileShape, typename T>
__tile__ auto VectorView(T* data, Extents4 extents, RowStrides4 strides) {
  using Mapping = ct::layout_strided_mapping<Extents4, RowStrides4>;
  return ct::partition_view(
      ct::tensor_span{ct::assume_aligned<16>(data), Mapping{extents, strides}}, TileShape{});
}

// An operand (batch, seqlen, heads or groups, columns) in tiles of kTokens and kColumns.
template <size_t kTokens, size_t kColumns, typename T>
__tile__ auto ChunkView(T* data, int32_t batch, int32_t seqlen, int32_t num_heads,
                        int32_t num_columns, int32_t batch_stride, int32_t token_stride,
                        int32_t head_stride) {
  const Extents4 extents{batch, seqlen, num_heads, ct::assume_divisible<8>(num_columns)};
  const RowStrides4 strides{ct::assume_divisible<8>(batch_stride),
                            ct::assume_divisible<8>(token_stride),
                            ct::assume_divisible<8>(head_stride)};
  return VectorView<ct::shape<1, kTokens, 1, kColumns>>(data, extents, strides);
}

// A compact workspace buffer (slots, heads or groups, rows, columns) in tiles of kRows and
// kColumns.
template <size_t kRows, size_t kColumns, typename T>
__tile__ auto MatrixView(T* data, int32_t num_slots, int32_t num_heads, int32_t num_rows,
                         int32_t num_columns) {
  const int32_t row_stride = ct::assume_divisible<8>(num_columns);
  const int32_t matrix_stride = num_rows * row_stride;
  const Extents4 extents{num_slots, num_heads, num_rows, row_stride};
  const RowStrides4 strides{num_heads * matrix_stride, matrix_stride, row_stride};
  return VectorView<ct::shape<1, 1, kRows, kColumns>>(data, extents, strides);
}

// Compact rows of floats, (rows, columns), in tiles of one row.
template <size_t kColumns>
__tile__ auto RowsView(const float* data, int32_t num_rows, int32_t num_columns) {
  using Extents = ct::extents<int32_t, kAnyExtent, kAnyExtent>;
  return ct::partition_view(
      ct::tensor_span{ct::assume_aligned<16>(data),
                      Extents{num_rows, ct::assume_divisible<8>(num_columns)}},
      ct::shape<1, kColumns>{});
}

// token_rows, all rows of a head of a slot in one tile: a load of each would cost more than what
// they bring.
__tile__ inline auto TokenRowsView(const float* token_rows, int32_t num_slots, int32_t nheads) {
  using Extents = ct::extents<int32_t, kAnyExtent, kAnyExtent, kTokenRows, kChunkTile>;
  return ct::partition_view(
      ct::tensor_span{ct::assume_aligned<16>(token_rows), Extents{num_slots, nheads}},
      ct::shape<1, 1, kTokenRows, kChunkTile>{});
}

// The same of kChunks chunks of a row, for (batch, num_chunks, nheads, ..).
template <size_t kChunks>
__tile__ auto TokenRowsOfChunksView(const float* token_rows, int32_t batch, int32_t num_chunks,
                                    int32_t nheads) {
  using Extents = ct::extents<int32_t, kAnyExtent, kAnyExtent, kAnyExtent, kTokenRows, kChunkTile>;
  return ct::partition_view(
      ct::tensor_span{ct::assume_aligned<16>(token_rows), Extents{batch, num_chunks, nheads}},
      ct::shape<1, kChunks, 1, kTokenRows, kChunkTile>{});
}

// Loads the tile of a view at these indices some iterations of the loop ahead.
template <typename View, typename... Indices>
__tile__ auto LoadAhead(View view, Indices... indices) {
  typename View::view_tile_type tile;
  [[using cutile: hint(0, latency = 3)]] tile = view.load_masked(indices...);
  return tile;
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_VIEWS_H_
