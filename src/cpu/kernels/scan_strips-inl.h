// How the columns of a chunk are cut for the register tiles.
#if defined(TILESCAN_CPU_KERNELS_SCAN_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_STRIPS_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_STRIPS_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_STRIPS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/scan_chunk.h"
#include "cpu/kernels/scan_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// The columns of x and of the state are cut into strips of at most kStripVectors vectors, as even
// as possible: the first ones have a vector more. Strip idx begins behind first_vector vectors.
struct Strip {
  int64_t first_vector;
  int num_vectors;
};
HWY_INLINE int64_t NumStrips(const ChunkShape& shape) {
  return (shape.padded_headdim / kLanes + kStripVectors - 1) / kStripVectors;
}
HWY_INLINE Strip GetStrip(const ChunkShape& shape, int64_t strip_idx) {
  const int64_t wider = shape.num_wider_strips;
  return {strip_idx * shape.strip_vectors + std::min(strip_idx, wider),
          static_cast<int>(shape.strip_vectors + (strip_idx < wider ? 1 : 0))};
}

inline ChunkShape Shape(int64_t chunk_size, int64_t headdim, int64_t dstate) {
  ChunkShape shape;
  shape.chunk_size = chunk_size;
  shape.headdim = headdim;
  shape.dstate = dstate;
  shape.padded_headdim = RoundUp(headdim, kLanes);
  const int64_t num_strips = NumStrips(shape);
  shape.strip_vectors = shape.padded_headdim / kLanes / num_strips;
  shape.num_wider_strips = shape.padded_headdim / kLanes % num_strips;
  shape.padded_chunk = RoundUp(RoundUp(chunk_size, 4), kStripWidth);
  // An odd number of cache lines, so that the rows of a tile do not fall on the same cache sets.
  constexpr int64_t kLine = 16;
  shape.padded_dstate = RoundUp(dstate, kLine);
  if (shape.padded_dstate / kLine % 2 == 0) shape.padded_dstate += kLine;
  return shape;
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_STRIPS_INL_H_
