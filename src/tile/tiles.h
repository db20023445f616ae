// What the scan's tile programs share: tiles of operands whose dtype and strides are known at run
// time only, products, and elementary functions.
//
// Structs are passed by value: the compiler keeps in memory what a reference is taken of.
#ifndef TILESCAN_TILE_TILES_H_
#define TILESCAN_TILE_TILES_H_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tf32.h>
#include <cuda_tile.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"

namespace tilescan::tile {

namespace ct = ::cuda::tiles;

template <typename T, size_t... kExtents>
using Tile = ct::tile<T, ct::shape<kExtents...>>;

inline constexpr float kLn2 = 0.693147180559945309f;
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// 0, 1, ... down a column and along a row.
template <size_t kRows, typename Index = int32_t>
__tile__ Tile<Index, kRows, 1> RowIndices() {
  return ct::element_cast<Index>(
      ct::reshape(ct::iota<Tile<int32_t, kRows>>(), ct::shape<kRows, 1>{}));
}
template <size_t kColumns, typename Index = int32_t>
__tile__ Tile<Index, 1, kColumns> ColumnIndices() {
  return ct::element_cast<Index>(
      ct::reshape(ct::iota<Tile<int32_t, kColumns>>(), ct::shape<1, kColumns>{}));
}

template <int32_t kDivisor>
__tile__ int32_t CountTiles(int32_t extent) {
  return (extent + kDivisor - 1) / kDivisor;
}

// How many of the kMost indices from first on lie below end.
template <size_t kMost>
__tile__ int32_t CountFrom(int64_t first, int64_t end) {
  constexpr int64_t most = kMost;
  const int64_t left = end - first;
  return static_cast<int32_t>(left < most ? left : most);
}

// A matrix inside an operand: its element (row, column) lies offset + row * row_stride + column *
// column_stride elements behind data.
struct Matrix {
  const void* data;
  int32_t dtype;  // DType
  int64_t offset, row_stride, column_stride;
};

// Where the elements of a tile lie behind offset. Index: a type that holds them.
template <typename Index, size_t kRows, size_t kColumns>
__tile__ Tile<Index, kRows, kColumns> OffsetsIn(Matrix matrix) {
  return RowIndices<kRows, Index>() * static_cast<Index>(matrix.row_stride) +
         ColumnIndices<kColumns, Index>() * static_cast<Index>(matrix.column_stride);
}

// The first rows and columns of a matrix where the mask is set, 0 elsewhere.
template <typename Index, size_t kRows, size_t kColumns>
__tile__ Tile<float, kRows, kColumns> LoadFloats(Matrix matrix, Tile<bool, kRows, kColumns> mask) {
  const auto offsets = OffsetsIn<Index, kRows, kColumns>(matrix);
  auto values = ct::zeros<Tile<float, kRows, kColumns>>();
  if (matrix.dtype == static_cast<int32_t>(DType::kFloat32)) {
    const float* const data = static_cast<const float*>(matrix.data) + matrix.offset;
    values = ct::load_masked(data + offsets, mask, 0.0f);
  } else {
    // One load for both 16-bit types: a bf16 is the upper half of a float.
    const uint16_t* const data = static_cast<const uint16_t*>(matrix.data) + matrix.offset;
    const auto bits = ct::load_masked(data + offsets, mask, uint16_t{0});
    const auto from_bf16 = ct::element_bitcast<float>(ct::element_cast<uint32_t>(bits) << 16);
    const auto from_fp16 = ct::element_cast<float>(ct::element_bitcast<__half>(bits));
    values =
        ct::select(matrix.dtype == static_cast<int32_t>(DType::kBFloat16), from_bf16, from_fp16);
  }
  return values;
}

// Writes values, rounded to nearest, where the mask is set. matrix.data is an output.
template <typename Index, size_t kRows, size_t kColumns>
__tile__ void StoreFloats(Tile<float, kRows, kColumns> values, Matrix matrix,
                          Tile<bool, kRows, kColumns> mask) {
  const auto offsets = OffsetsIn<Index, kRows, kColumns>(matrix);
  void* const output = const_cast<void*>(matrix.data);
  if (matrix.dtype == static_cast<int32_t>(DType::kFloat32)) {
    ct::store_masked(static_cast<float*>(output) + matrix.offset + offsets, values, mask);
  } else {
    const auto as_bf16 = ct::element_bitcast<uint16_t>(ct::element_cast<__nv_bfloat16>(values));
    const auto as_fp16 = ct::element_bitcast<uint16_t>(ct::element_cast<__half>(values));
    const auto bits =
        ct::select(matrix.dtype == static_cast<int32_t>(DType::kBFloat16), as_bf16, as_fp16);
    ct::store_masked(static_cast<uint16_t*>(output) + matrix.offset + offsets, bits, mask);
  }
}

// 2^(high + low), low being too small beside high for the sum to hold it.
template <typename TileType>
__tile__ TileType Exp2OfSum(TileType high, TileType low) {
  return ct::exp2(high) * (low * kLn2 + 1.0f);
}

// False for NaN and infinity.
template <size_t kRows, size_t kColumns>
__tile__ Tile<bool, kRows, kColumns> IsFinite(Tile<float, kRows, kColumns> values) {
  return ct::abs(values) <= std::numeric_limits<float>::max();
}
template <size_t kRows, size_t kColumns>
__tile__ bool AllOf(Tile<bool, kRows, kColumns> values) {
  return static_cast<bool>(ct::all_of<1>(ct::all_of<0>(values)));
}

// acc + left right, the operands being multiplied in type Compute. fp32 products are taken a few
// columns of left at a time: as one they need more registers than there are.
inline constexpr size_t kFp32Depth = 8;
template <typename Compute, size_t kRows, size_t kDepth, size_t kColumns>
__tile__ Tile<float, kRows, kColumns> MultiplyAdd(Tile<float, kRows, kDepth> left,
                                                  Tile<float, kDepth, kColumns> right,
                                                  Tile<float, kRows, kColumns> acc) {
  constexpr bool kIsFp32 = std::is_same_v<Compute, float>;
  constexpr size_t kPiece = kIsFp32 && kDepth > kFp32Depth ? kFp32Depth : kDepth;
  if constexpr (kPiece == kDepth) {
    return ct::mma(ct::element_cast<Compute>(left), ct::element_cast<Compute>(right), acc);
  } else {
    for (size_t idx = 0; idx < kDepth / kPiece; ++idx) {
      acc = ct::mma(ct::extract(left, ct::shape<kRows, kPiece>{}, 0, idx),
                    ct::extract(right, ct::shape<kPiece, kColumns>{}, idx, 0), acc);
    }
    return acc;
  }
}

// NaN in the rows of y that see a row of x which is infinite or NaN in their column. Products with
// the 0 of a masked matrix do not keep such an x from the rows that must not see it: where it
// occurs, it is multiplied as 0 and its effect is written by this function.
template <size_t kTokens, size_t kColumns>
__tile__ Tile<float, kTokens, kColumns> SpreadNan(Tile<float, kTokens, kColumns> y,
                                                  Tile<bool, kTokens, kTokens> sees_row,
                                                  Tile<bool, kTokens, kColumns> is_finite) {
  using Values = Tile<float, kTokens, kColumns>;
  using Pairs = Tile<float, kTokens, kTokens>;
  const auto sees = ct::select(sees_row, ct::ones<Pairs>(), ct::zeros<Pairs>());
  const auto flags = ct::select(is_finite, ct::zeros<Values>(), ct::ones<Values>());
  const auto num_seen = ct::mma(ct::element_cast<__nv_bfloat16>(sees),
                                ct::element_cast<__nv_bfloat16>(flags), ct::zeros<Values>());
  return ct::select(num_seen > 0.0f, ct::full<Values>(kNan), y);
}

// z * sigmoid(z); nothing overflows on the way to a tiny result.
template <typename TileType>
__tile__ TileType Silu(TileType z) {
  const auto u = ct::exp(-ct::abs(z));
  return ct::div(ct::select(z >= 0.0f, z, z * u), u + 1.0f, ct::round_approximate_t{});
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_TILES_H_
