// out of a chunk from the sums of its products.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_OUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_OUT_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_OUT_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_OUT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/scan_amx.h"
#include "cpu/kernels/scan_amx_pairs-inl.h"
#include "cpu/kernels/scan_amx_prepare-inl.h"
#include "cpu/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// 32 tokens (a step) of 32 columns of headdim (a pair of tiles), whose sums are ready.
struct AmxOutTile {
  AmxChunk chunk;
  int64_t step = 0;
  int64_t column_pair = 0;
  const float* sums = nullptr;         // (2, 2) tiles
  const float* strong_sums = nullptr;  // likewise, of M_strong; null: no token needs them
  const uint32_t* state = nullptr;     // the rounded state before the chunk
};

// The sums of one row, decayed.
HWY_INLINE void LoadSums(const AmxOutTile& tile, int64_t row, UnitVector (&values)[kRowVectors]) {
  const UnitTag d;
  const HeadBuffers& decays = tile.chunk.buffers->decays;
  const int64_t i = tile.step * kTileDepth + row;
  const int64_t at = row / kTileRows * 2 * kTileElements + row % kTileRows * kTileColumns;
  const UnitVector decay = hn::Set(d, decays.decay[i]);
  for (int64_t idx = 0; idx < kRowVectors; ++idx) {
    const int64_t column = idx * kUnitLanes;
    const int64_t offset = at + column / kTileColumns * kTileElements + column % kTileColumns;
    values[idx] = hn::Mul(decay, hn::Load(d, tile.sums + offset));
    if (tile.strong_sums != nullptr && i >= tile.chunk.buffers->num_weak) {
      values[idx] = hn::Add(values[idx], hn::Load(d, tile.strong_sums + offset));
    }
  }
}

// values += D x.
HWY_INLINE void AddSkip(const AmxOutTile& tile, int64_t row, UnitVector (&values)[kRowVectors]) {
  const UnitTag d;
  const HeadParameters& parameters = tile.chunk.head->parameters;
  if (parameters.D == 0.0f && parameters.D_row == nullptr) return;
  const uint32_t* x =
      tile.chunk.buffers->x +
      (tile.step * tile.chunk.shape->headdim_tiles() + 2 * tile.column_pair) * kTileElements +
      row % kTileRows * kTileColumns;
  for (int64_t idx = 0; idx < kRowVectors; ++idx) {
    const int64_t column = idx * kUnitLanes;
    const PairVector pairs =
        hn::Load(PairTag(), x + column / kTileColumns * kTileElements + column % kTileColumns);
    const UnitVector x_row = row < kTileRows ? FloatOfLow(pairs) : FloatOfHigh(pairs);
    const UnitVector D =
        parameters.D_row == nullptr
            ? hn::Set(d, parameters.D)
            : hn::LoadU(d, parameters.D_row + tile.column_pair * kTileDepth + column);
    values[idx] = hn::MulAdd(D, x_row, values[idx]);
  }
}

// A row to the caller's memory, whatever its strides; with the gate.
template <class Unit>
HWY_NOINLINE void StoreOutRowAnywhere(const AmxOutTile& tile, int64_t row,
                                      UnitVector (&values)[kRowVectors]) {
  const UnitTag d;
  const AmxShape& shape = *tile.chunk.shape;
  const int64_t token = tile.chunk.first_token() + tile.step * kTileDepth + row;
  const int64_t first = tile.column_pair * kTileDepth;
  const int64_t count = std::min(kTileDepth, shape.headdim - first);
  const Rows& z = tile.chunk.head->z;
  if (z.data != nullptr) {
    HWY_ALIGN float gate[kTileDepth] = {};
    LoadRow(z.From(first).At(token), z.dtype, z.element_stride, count, gate);
    for (int64_t idx = 0; idx < kRowVectors; ++idx) {
      values[idx] = hn::Mul(values[idx], Silu(d, hn::Load(d, gate + idx * kUnitLanes)));
    }
  }
  alignas(64) numerics::BFloat16 rounded[kTileDepth];
  Unit::StoreRounded(values, rounded, /*past_caches=*/false);
  const Rows& out = tile.chunk.head->out;
  auto* to = reinterpret_cast<numerics::BFloat16*>(out.At(token)) + first * out.element_stride;
  for (int64_t idx = 0; idx < count; ++idx) to[idx * out.element_stride] = rounded[idx];
}

// acc += factors times rows of right tiles: those of one pair of the depth, lane by lane.
HWY_INLINE void AddPairRow(float factor_low, float factor_high, const uint32_t* pairs,
                           UnitVector (&acc)[kRowVectors]) {
  const UnitTag d;
  for (int64_t idx = 0; idx < kRowVectors; ++idx) {
    const int64_t column = idx * kUnitLanes;
    const PairVector pair =
        hn::Load(PairTag(), pairs + column / kTileColumns * kTileElements + column % kTileColumns);
    acc[idx] = hn::MulAdd(hn::Set(d, factor_low), FloatOfLow(pair), acc[idx]);
    acc[idx] = hn::MulAdd(hn::Set(d, factor_high), FloatOfHigh(pair), acc[idx]);
  }
}

// The sums of one row again, with nothing but what comes before its token: an x that is not finite
// must not reach earlier tokens, where a product takes it times zero; nor must a sum that
// overflowed only because out is scaled on the way.
HWY_NOINLINE inline void RepeatSums(const AmxOutTile& tile, int64_t row,
                                    UnitVector (&values)[kRowVectors]) {
  const UnitTag d;
  const AmxShape& shape = *tile.chunk.shape;
  const HeadBuffers& decays = tile.chunk.buffers->decays;
  const int64_t i = tile.step * kTileDepth + row;
  const int64_t tiles = shape.headdim_tiles();
  for (UnitVector& value : values) value = hn::Zero(d);
  const uint32_t* C = tile.chunk.group().C + i / kTileRows * shape.state_steps() * kTileElements +
                      i % kTileRows * kTileColumns;
  for (int64_t step = 0; step < shape.state_steps(); ++step) {
    for (int64_t pair = 0; pair < kTileRows; ++pair) {
      const uint32_t halves = C[step * kTileElements + pair];
      AddPairRow(
          numerics::ToFloat(numerics::BFloat16{static_cast<uint16_t>(halves)}),
          numerics::ToFloat(numerics::BFloat16{static_cast<uint16_t>(halves >> 16)}),
          tile.state + (step * tiles + 2 * tile.column_pair) * kTileElements + pair * kTileColumns,
          values);
    }
  }
  for (UnitVector& value : values) value = hn::Mul(value, hn::Set(d, decays.decay[i]));
  const float a_high = decays.a_high[i];
  const float a_low = decays.a_low[i];
  for (int64_t j = 0; j <= i; ++j) {
    const int64_t step = j / kTileDepth;
    const int64_t pair = j % kTileDepth % kTileRows;
    const bool is_high = j % kTileDepth >= kTileRows;
    const float CB =
        tile.chunk.group().CB[(i / kTileRows * shape.chunk_steps() + step) * 2 * kTileElements +
                              i % kTileRows * kTileDepth + j % kTileDepth];
    const float exponent = (a_high - decays.a_high[j]) + (a_low - decays.a_low[j]);
    const UnitVector weight = hn::Mul(Exp(d, hn::Set(d, exponent)), hn::Set(d, decays.dt[j]));
    const UnitVector M = hn::Mul(hn::Set(d, CB), weight);
    const uint32_t* x = tile.chunk.buffers->x +
                        (step * tiles + 2 * tile.column_pair) * kTileElements + pair * kTileColumns;
    for (int64_t idx = 0; idx < kRowVectors; ++idx) {
      const int64_t column = idx * kUnitLanes;
      const PairVector x_pair =
          hn::Load(PairTag(), x + column / kTileColumns * kTileElements + column % kTileColumns);
      values[idx] = hn::MulAdd(M, is_high ? FloatOfHigh(x_pair) : FloatOfLow(x_pair), values[idx]);
    }
  }
}

// The rows of a tile of out that are whole, lie side by side, and have no gate.
template <class Unit>
HWY_INLINE void StorePlainRow(const AmxOutTile& tile, int64_t row,
                              const UnitVector (&values)[kRowVectors]) {
  const Rows& out = tile.chunk.head->out;
  const int64_t token = tile.chunk.first_token() + tile.step * kTileDepth + row;
  auto* to = reinterpret_cast<numerics::BFloat16*>(out.At(token)) + tile.column_pair * kTileDepth;
  Unit::StoreRounded(values, to, tile.chunk.head->past_caches);
}

// The same for rows [first, end) without D and behind no strong decay. The result is NaN where a
// sum was not finite.
template <class Unit>
HWY_INLINE UnitVector StoreSimpleRows(const AmxOutTile& tile, int64_t first, int64_t end) {
  const UnitTag d;
  const Rows& out = tile.chunk.head->out;
  const float* decay = tile.chunk.buffers->decays.decay + tile.step * kTileDepth;
  const int64_t token = tile.chunk.first_token() + tile.step * kTileDepth + first;
  auto* to = reinterpret_cast<numerics::BFloat16*>(out.At(token)) + tile.column_pair * kTileDepth;
  const bool past_caches = tile.chunk.head->past_caches;
  const float* sums =
      tile.sums + first / kTileRows * 2 * kTileElements + first % kTileRows * kTileColumns;
  UnitVector traces = hn::Zero(d);
#pragma GCC unroll 2
  for (int64_t row = first; row < end; ++row) {
    const UnitVector factor = hn::Set(d, decay[row]);
    UnitVector values[kRowVectors];
    for (int64_t idx = 0; idx < kRowVectors; ++idx) {
      const int64_t column = idx * kUnitLanes;
      values[idx] = hn::Mul(factor, hn::Load(d, sums + column / kTileColumns * kTileElements +
                                                    column % kTileColumns));
      traces = hn::MulAdd(values[idx], hn::Zero(d), traces);
    }
    Unit::StoreRounded(values, to, past_caches);
    to += out.row_stride;
    sums += kTileColumns;
  }
  return traces;
}

template <class Unit>
HWY_INLINE void StoreOutRow(const AmxOutTile& tile, bool is_plain, int64_t row,
                            UnitVector (&values)[kRowVectors]) {
  AddSkip(tile, row, values);
  if (is_plain) {
    StorePlainRow<Unit>(tile, row, values);
  } else {
    StoreOutRowAnywhere<Unit>(tile, row, values);
  }
}

// Rows [first, end) of the 32, which are in one tile, to where out is.
template <class Unit>
void StoreOutRows(const AmxOutTile& tile, bool is_plain, int64_t first, int64_t end) {
  const UnitTag d;
  const HeadParameters& parameters = tile.chunk.head->parameters;
  end = std::min(end, tile.chunk.num_tokens() - tile.step * kTileDepth);
  UnitVector traces = hn::Zero(d);  // NaN once a sum was not finite
  if (is_plain && tile.strong_sums == nullptr && parameters.D == 0.0f &&
      parameters.D_row == nullptr) {
    traces = StoreSimpleRows<Unit>(tile, first, end);
  } else {
    for (int64_t row = first; row < end; ++row) {
      UnitVector values[kRowVectors];
      LoadSums(tile, row, values);
      for (const UnitVector& value : values) traces = hn::MulAdd(value, hn::Zero(d), traces);
      StoreOutRow<Unit>(tile, is_plain, row, values);
    }
  }
  if (hn::AllTrue(d, hn::Eq(traces, traces))) return;
  for (int64_t row = first; row < end; ++row) {
    UnitVector values[kRowVectors];
    RepeatSums(tile, row, values);
    StoreOutRow<Unit>(tile, is_plain, row, values);
  }
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_OUT_INL_H_
