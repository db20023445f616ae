// x from the caller's memory into strips, and out from there back.
#if defined(TILESCAN_CPU_KERNELS_SCAN_X_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_tiles-inl.h"
#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// How many tokens ahead rows of x and out, and the places x goes to, are asked for.
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

// One row of out from its strips, in the dtype of T. past_caches, which only fp32 has: without a
// place in the caches.
template <typename T>
HWY_INLINE void GatherRow(const ChunkShape& shape, const float* x, int64_t row_idx, T* to,
                          bool past_caches) {
  const TileTag d;
  const int64_t num_strips = NumStrips(shape);
  for (int64_t strip_idx = 0; strip_idx < num_strips; ++strip_idx) {
    const int64_t width = GetStrip(shape, strip_idx).num_vectors * kLanes;
    const float* from = x + row_idx * width;
    for (int64_t idx = 0; idx < width; idx += kLanes) {
      const TileVector value = hn::Load(d, from + idx);
      if constexpr (std::is_same_v<T, float>) {
        if (past_caches) {
          hn::Stream(value, d, to + idx);
          continue;
        }
      }
      StoreFloats(d, value, to + idx);
    }
    x += width * shape.chunk_size;
    to += width;
  }
}

// Rows of whole vectors without a gate, straight to their place.
template <typename T>
void StoreOutDirectly(const ChunkShape& shape, const float* x, int64_t num_tokens, bool past_caches,
                      const Rows& out) {
  for (int64_t token = 0; token < num_tokens; ++token) {
    T* to = reinterpret_cast<T*>(out.At(token));
    const bool streams = std::is_same_v<T, float> && past_caches &&
                         reinterpret_cast<uintptr_t>(to) % (kLanes * sizeof(float)) == 0;
    if (!streams && token + kTokensAhead < num_tokens) {
      PrefetchRow<kToWrite>(out, token + kTokensAhead, shape.headdim);
    }
    GatherRow(shape, x, token, to, streams);
  }
}

void StoreOut(const ChunkShape& shape, const float* x, const Rows& z, int64_t num_tokens,
              bool past_caches, float* row, const Rows& out) {
  const TileTag d;
  if (out.element_stride == 1 && shape.headdim == shape.padded_headdim && z.data == nullptr) {
    switch (out.dtype) {
      case DType::kBFloat16:
        return StoreOutDirectly<numerics::BFloat16>(shape, x, num_tokens, past_caches, out);
      case DType::kFloat16:
        return StoreOutDirectly<numerics::Float16>(shape, x, num_tokens, past_caches, out);
      default:
        return StoreOutDirectly<float>(shape, x, num_tokens, past_caches, out);
    }
  }
  for (int64_t token = 0; token < num_tokens; ++token) {
    GatherRow(shape, x, token, row, false);
    if (z.data != nullptr) {
      LoadRow(z.At(token), z.dtype, z.element_stride, shape.headdim, row + shape.padded_headdim);
      for (int64_t idx = 0; idx < shape.padded_headdim; idx += kLanes) {
        const TileVector gate = Silu(d, hn::Load(d, row + shape.padded_headdim + idx));
        hn::Store(hn::Mul(hn::Load(d, row + idx), gate), d, row + idx);
      }
    }
    StoreRow(row, shape.headdim, out.dtype, out.At(token), out.element_stride);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_X_INL_H_
