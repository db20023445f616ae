// Between four rows of fp32 and four neighbouring columns.
#if defined(TILESCAN_CPU_KERNELS_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SIMD_TRANSPOSE_INL_H_
#undef TILESCAN_CPU_KERNELS_SIMD_TRANSPOSE_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SIMD_TRANSPOSE_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// to[idx * stride + k] = rows[k * row_stride + idx] for k < 4.
HWY_INLINE void TransposeFourRows(const float* rows, int64_t row_stride, int64_t count, float* to,
                                  int64_t stride) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWidth = hn::MaxLanes(d);
  HWY_ALIGN float interleaved[4 * kWidth];
  int64_t idx = 0;
  for (; idx + kWidth <= count; idx += kWidth) {
    hn::StoreInterleaved4(hn::LoadU(d, rows + idx), hn::LoadU(d, rows + row_stride + idx),
                          hn::LoadU(d, rows + 2 * row_stride + idx),
                          hn::LoadU(d, rows + 3 * row_stride + idx), d, interleaved);
    for (int64_t lane = 0; lane < kWidth; ++lane) {
      std::memcpy(to + (idx + lane) * stride, interleaved + 4 * lane, 4 * sizeof(float));
    }
  }
  for (; idx < count; ++idx) {
    for (int64_t k = 0; k < 4; ++k) to[idx * stride + k] = rows[k * row_stride + idx];
  }
}

// rows[k * row_stride + idx] = from[idx * stride + k] for k < 4: the way back.
HWY_INLINE void TransposeFourColumns(const float* from, int64_t stride, int64_t count, float* rows,
                                     int64_t row_stride) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWidth = hn::MaxLanes(d);
  HWY_ALIGN float interleaved[4 * kWidth];
  int64_t idx = 0;
  for (; idx + kWidth <= count; idx += kWidth) {
    for (int64_t lane = 0; lane < kWidth; ++lane) {
      std::memcpy(interleaved + 4 * lane, from + (idx + lane) * stride, 4 * sizeof(float));
    }
    hn::Vec<decltype(d)> row_0, row_1, row_2, row_3;
    hn::LoadInterleaved4(d, interleaved, row_0, row_1, row_2, row_3);
    hn::StoreU(row_0, d, rows + idx);
    hn::StoreU(row_1, d, rows + row_stride + idx);
    hn::StoreU(row_2, d, rows + 2 * row_stride + idx);
    hn::StoreU(row_3, d, rows + 3 * row_stride + idx);
  }
  for (; idx < count; ++idx) {
    for (int64_t k = 0; k < 4; ++k) rows[k * row_stride + idx] = from[idx * stride + k];
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SIMD_TRANSPOSE_INL_H_
