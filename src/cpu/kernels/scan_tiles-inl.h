// Register tiles: kRows x kVectors vectors of accumulators, the matrix products of a chunk.
#if defined(TILESCAN_CPU_KERNELS_SCAN_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_TILES_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_TILES_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_TILES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using TileTag = hn::ScalableTag<float>;
using TileVector = hn::Vec<TileTag>;

// A tile needs rows * vectors accumulators, as many right elements as vectors and one left element:
// 29 of 32 registers with AVX-512, 16 of 16 elsewhere, or 15 in a narrower strip.
inline constexpr bool kHas32Registers = HWY_TARGET <= HWY_AVX3;
inline constexpr int kStripVectors = kHas32Registers ? 4 : 3;
constexpr int TileRows(int num_vectors) {
  return kHas32Registers || num_vectors < kStripVectors ? 6 : 4;
}
inline constexpr int64_t kLanes = hn::MaxLanes(TileTag());
inline constexpr int64_t kStripWidth = kStripVectors * kLanes;

template <int kRows, int kVectors>
HWY_INLINE void ZeroTile(TileVector (&acc)[kRows][kVectors]) {
  const TileTag d;
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) acc[row][vector] = hn::Zero(d);
  }
}

// acc[row][:] += sum over k < depth of left[row * left_stride + k] * right[k * right_stride + :].
template <int kRows, int kVectors>
HWY_INLINE void MultiplyAdd(const float* HWY_RESTRICT left, int64_t left_stride,
                            const float* HWY_RESTRICT right, int64_t right_stride, int64_t depth,
                            TileVector (&acc)[kRows][kVectors]) {
  const TileTag d;
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    TileVector right_k[kVectors];
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      right_k[vector] = hn::LoadU(d, right + vector * kLanes);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const TileVector left_k = hn::Set(d, left[row * left_stride]);
#pragma GCC unroll 4
      for (int vector = 0; vector < kVectors; ++vector) {
        acc[row][vector] = hn::MulAdd(left_k, right_k[vector], acc[row][vector]);
      }
    }
    ++left;
    right += right_stride;
  }
}

// The same for a square block on the diagonal: only k <= row is touched, so that what comes later
// (a NaN as well) cannot reach a row.
template <int kRows, int kVectors>
HWY_INLINE void MultiplyAddDiagonal(const float* HWY_RESTRICT left, int64_t left_stride,
                                    const float* HWY_RESTRICT right, int64_t right_stride,
                                    TileVector (&acc)[kRows][kVectors]) {
  const TileTag d;
#pragma GCC unroll 8
  for (int k = 0; k < kRows; ++k) {
    TileVector right_k[kVectors];
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      right_k[vector] = hn::LoadU(d, right + k * right_stride + vector * kLanes);
    }
#pragma GCC unroll 8
    for (int row = k; row < kRows; ++row) {
      const TileVector left_k = hn::Set(d, left[row * left_stride + k]);
#pragma GCC unroll 4
      for (int vector = 0; vector < kVectors; ++vector) {
        acc[row][vector] = hn::MulAdd(left_k, right_k[vector], acc[row][vector]);
      }
    }
  }
}

// acc[row][:] *= scale[row].
template <int kRows, int kVectors>
HWY_INLINE void ScaleRows(const float* HWY_RESTRICT scale, TileVector (&acc)[kRows][kVectors]) {
  const TileTag d;
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
    const TileVector factor = hn::Set(d, scale[row]);
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      acc[row][vector] = hn::Mul(factor, acc[row][vector]);
    }
  }
}

// acc[row][:] += factor[:] * from[row * stride + :].
template <int kRows, int kVectors>
HWY_INLINE void AddProduct(const float* factor, const float* from, int64_t stride,
                           TileVector (&acc)[kRows][kVectors]) {
  const TileTag d;
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      acc[row][vector] =
          hn::MulAdd(hn::LoadU(d, factor + vector * kLanes),
                     hn::LoadU(d, from + row * stride + vector * kLanes), acc[row][vector]);
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void StoreTile(const TileVector (&acc)[kRows][kVectors], float* to, int64_t stride) {
  const TileTag d;
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      hn::StoreU(acc[row][vector], d, to + row * stride + vector * kLanes);
    }
  }
}

// to[row][:] = factor * from[row][:] + acc[row][:].
template <int kRows, int kVectors>
HWY_INLINE void StoreTileOverDecayed(const TileVector (&acc)[kRows][kVectors], float factor,
                                     const float* from, float* to, int64_t stride) {
  const TileTag d;
  const TileVector decay = hn::Set(d, factor);
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      const int64_t offset = row * stride + vector * kLanes;
      const TileVector before = hn::LoadU(d, from + offset);
      hn::StoreU(hn::MulAdd(decay, before, acc[row][vector]), d, to + offset);
    }
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_TILES_INL_H_
