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

// How far ahead rows of x, and the places they go to, are asked for.
constexpr int64_t kTokensAhead = 8;

template <typename T>
void LoadXOf(const ChunkShape& shape, const Rows& from, int64_t num_tokens, float* x) {
  constexpr int64_t kLineElements = 16;
  const int64_t stride = from.element_stride;
  for (int64_t strip_idx = 0; strip_idx < NumStrips(shape); ++strip_idx) {
    const Strip strip = GetStrip(shape, strip_idx);
    const int64_t first = strip.first_vector * kLanes;
    const int64_t width = strip.num_vectors * kLanes;
    const int64_t count = std::min(width, shape.headdim - first);
    const T* row = reinterpret_cast<const T*>(from.At(0)) + first * stride;
    float* to = x + first * shape.chunk_size;
    for (int64_t token = 0; token < num_tokens; ++token) {
      // The first strip asks for whole rows.
      if (strip_idx == 0 && token + kTokensAhead < num_tokens) {
        PrefetchRow(from, token + kTokensAhead, shape.headdim);
      }
      // Behind this strip the next one begins, and behind the last the weighted one.
      for (int64_t idx = 0; idx < width; idx += kLineElements) {
        __builtin_prefetch(to + kTokensAhead * width + idx, /*rw=*/1);
      }
      if (stride == 1 && count == width) {
        const TileTag d;
        for (int64_t idx = 0; idx < width; idx += kLanes) {
          hn::Store(LoadFloats(d, row + idx), d, to + idx);
        }
      } else {
        LoadRowOf(row, stride, count, to);
        for (int64_t idx = count; idx < width; ++idx) to[idx] = 0.0f;
      }
      if (token + 1 < num_tokens) row += from.row_stride;
      to += width;
    }
  }
}

void LoadX(const ChunkShape& shape, const Rows& from, int64_t num_tokens, float* x) {
  switch (from.dtype) {
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
    const int64_t width = GetStrip(shape, strip_idx).num_vectors * kLanes;
    const float* from = x + row_idx * width;
    for (int64_t idx = 0; idx < width; idx += kLanes) {
      const TileVector value = hn::Load(d, from + idx);
      if (past_caches) {
        hn::Stream(value, d, to + idx);
      } else {
        hn::StoreU(value, d, to + idx);
      }
    }
    x += width * shape.chunk_size;
    to += width;
  }
}

void StoreOut(const ChunkShape& shape, const float* x, const Rows& z, int64_t num_tokens,
              bool past_caches, float* row, const Rows& out) {
  const TileTag d;
  // Whole vectors of fp32 go straight to their place.
  const bool direct = out.dtype == DType::kFloat32 && out.element_stride == 1 &&
                      shape.headdim == shape.padded_headdim && z.data == nullptr;
  for (int64_t token = 0; token < num_tokens; ++token) {
    std::byte* at = out.At(token);
    if (direct) {
      const bool is_aligned = reinterpret_cast<uintptr_t>(at) % (kLanes * sizeof(float)) == 0;
      GatherRow(shape, x, token, reinterpret_cast<float*>(at), past_caches && is_aligned);
      continue;
    }
    GatherRow(shape, x, token, row, false);
    if (z.data != nullptr) {
      LoadRow(z.At(token), z.dtype, z.element_stride, shape.headdim, row + shape.padded_headdim);
      for (int64_t idx = 0; idx < shape.padded_headdim; idx += kLanes) {
        const TileVector gate = Silu(d, hn::Load(d, row + shape.padded_headdim + idx));
        hn::Store(hn::Mul(hn::Load(d, row + idx), gate), d, row + idx);
      }
    }
    StoreRow(row, shape.headdim, out.dtype, at, out.element_stride);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
