// x from the caller's memory into strips, and out from there back.
#if defined(TILESCAN_CPU_KERNELS_SCAN_X_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"
#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// How far ahead rows of x are asked for: enough to cover the wait, few enough to be in flight at
// once.
constexpr int64_t kTokensAhead = 4;

template <typename T>
void LoadXOf(const ChunkShape& shape, const HeadRows& from, int64_t num_tokens, float* x) {
  const int64_t num_chunks = (num_tokens + shape.chunk_size - 1) / shape.chunk_size;
  const int64_t stride = from.first.element_stride;
  const int64_t num_strips = NumStrips(shape);
  for (int64_t token = 0; token < num_tokens; ++token) {
    const int64_t row_idx = token % shape.chunk_size;
    float* head_x = x + token / shape.chunk_size * XElements(shape);
    if (token + kTokensAhead < num_tokens) Prefetch(from, token + kTokensAhead, shape.headdim);
    for (int64_t head_idx = 0; head_idx < from.num_heads; ++head_idx) {
      const T* row = reinterpret_cast<const T*>(from.At(token, head_idx));
      for (int64_t strip_idx = 0; strip_idx < num_strips; ++strip_idx) {
        const Strip strip = GetStrip(shape, strip_idx);
        const int64_t first = strip.first_vector * kLanes;
        const int64_t width = strip.num_vectors * kLanes;
        const int64_t count = std::min(width, shape.headdim - first);
        float* to = head_x + first * shape.chunk_size + row_idx * width;
        LoadRowOf(row + first * stride, stride, count, to);
        for (int64_t idx = count; idx < width; ++idx) to[idx] = 0.0f;
      }
      head_x += num_chunks * XElements(shape);
    }
  }
}

void LoadX(const ChunkShape& shape, const HeadRows& from, int64_t num_tokens, float* x) {
  switch (from.first.dtype) {
    case DType::kBFloat16:
      return LoadXOf<numerics::BFloat16>(shape, from, num_tokens, x);
    case DType::kFloat16:
      return LoadXOf<numerics::Float16>(shape, from, num_tokens, x);
    default:
      return LoadXOf<float>(shape, from, num_tokens, x);
  }
}

// One row of out from its strips.
HWY_INLINE void GatherRow(const ChunkShape& shape, const float* x, int64_t row_idx, float* to,
                          bool past_caches) {
  const TileTag d;
  const int64_t num_strips = NumStrips(shape);
  for (int64_t strip_idx = 0; strip_idx < num_strips; ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes;
    const int64_t width = strip.num_vectors * kLanes;
    const float* from = x + first * shape.chunk_size + row_idx * width;
    for (int64_t idx = 0; idx < width; idx += kLanes) {
      if (past_caches) {
        hn::Stream(hn::Load(d, from + idx), d, to + first + idx);
      } else {
        hn::StoreU(hn::Load(d, from + idx), d, to + first + idx);
      }
    }
  }
}

void StoreOut(const ChunkShape& shape, const float* x, const HeadRows& z, int64_t num_tokens,
              bool past_caches, float* row, const HeadRows& to) {
  const TileTag d;
  const int64_t num_chunks = (num_tokens + shape.chunk_size - 1) / shape.chunk_size;
  const Rows& out = to.first;
  // Whole vectors of fp32 go straight to their place.
  const bool direct = out.dtype == DType::kFloat32 && out.element_stride == 1 &&
                      shape.headdim == shape.padded_headdim && z.first.data == nullptr;
  for (int64_t token = 0; token < num_tokens; ++token) {
    const int64_t row_idx = token % shape.chunk_size;
    const float* head_x = x + token / shape.chunk_size * XElements(shape);
    for (int64_t head_idx = 0; head_idx < to.num_heads; ++head_idx) {
      std::byte* at = to.At(token, head_idx);
      if (direct) {
        const bool is_aligned = reinterpret_cast<uintptr_t>(at) % (kLanes * sizeof(float)) == 0;
        GatherRow(shape, head_x, row_idx, reinterpret_cast<float*>(at), past_caches && is_aligned);
      } else {
        GatherRow(shape, head_x, row_idx, row, false);
        if (z.first.data != nullptr) {
          LoadRow(z.At(token, head_idx), z.first.dtype, z.first.element_stride, shape.headdim,
                  row + shape.padded_headdim);
          for (int64_t idx = 0; idx < shape.padded_headdim; idx += kLanes) {
            const TileVector gate = Silu(d, hn::Load(d, row + shape.padded_headdim + idx));
            hn::Store(hn::Mul(hn::Load(d, row + idx), gate), d, row + idx);
          }
        }
        StoreRow(row, shape.headdim, out.dtype, at, out.element_stride);
      }
      head_x += num_chunks * XElements(shape);
    }
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
