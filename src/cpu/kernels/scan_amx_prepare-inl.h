// What a head's chunk needs before its products: decays, x and M as factors for the matrix unit. In
// pieces of some hundred operations, to be done between the products of the chunk before.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_PREPARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_PREPARE_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_PREPARE_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_PREPARE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/scan_amx.h"
#include "cpu/kernels/scan_amx_pairs-inl.h"
#include "cpu/kernels/scan_decay-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// A chunk of a head's block.
struct AmxChunk {
  const AmxShape* shape = nullptr;
  const AmxHead* head = nullptr;  // null: no chunk
  int64_t chunk_idx = 0;
  AmxChunkBuffers* buffers = nullptr;
  NextX next_x;  // of the chunk that is prepared after this one

  int64_t first_token() const { return chunk_idx * shape->chunk_size; }
  int64_t num_tokens() const {
    return std::min(shape->chunk_size, head->num_tokens - first_token());
  }
  // Steps of 32 tokens that have any.
  int64_t num_steps() const { return (num_tokens() + kTileDepth - 1) / kTileDepth; }
  const AmxGroupBuffers& group() const { return head->groups[chunk_idx]; }
  bool IsLast() const { return first_token() + shape->chunk_size >= head->num_tokens; }
  // Whether any of the 32 tokens of a step stands behind a strong decay.
  bool HasStrong(int64_t step) const {
    return buffers->num_weak < std::min((step + 1) * kTileDepth, num_tokens());
  }
};

inline Rows RowsFrom(Rows rows, int64_t row_idx) {
  if (rows.data != nullptr) rows.data = rows.At(row_idx);
  return rows;
}

// Whether exp(-a_j) dt_j may be a factor of M as far as token i goes. The sums hold out times
// exp(-a_i), and the low parts of M are some 2^16 times smaller than M: neither may come near the
// ends of fp32, where the matrix unit takes denormal values for zero.
HWY_INLINE bool IsModerate(const HeadBuffers& decays, int64_t i) {
  constexpr float kMostExponent = 40.0f;
  constexpr float kMostInverse = 1e22f;
  const float inverse = std::abs(decays.inverse[i]);
  return std::abs(decays.a_high[i]) <= kMostExponent &&
         ((inverse >= 1.0f / kMostInverse && inverse <= kMostInverse) || decays.dt[i] == 0.0f);
}

// Zeros where there are no tokens, canonical NaNs elsewhere.
inline void PadDecays(int64_t num_tokens, int64_t padded, float* values) {
  const UnitTag d;
  std::fill(values + num_tokens, values + padded, 0.0f);
  for (int64_t token = 0; token < num_tokens; token += kUnitLanes) {
    hn::Store(CanonicalNaN(hn::Load(d, values + token)), d, values + token);
  }
}

inline void PrepareDecays(const AmxChunk& chunk) {
  const int64_t num_tokens = chunk.num_tokens();
  const int64_t padded = chunk.shape->chunk_size;
  const HeadBuffers& decays = chunk.buffers->decays;
  ChunkCumsum(RowsFrom(chunk.head->dt, chunk.first_token()), num_tokens, chunk.head->parameters,
              decays);
  WeighCausal(decays, num_tokens - 1, nullptr, decays.weight);
  int64_t num_weak = 0;
  while (num_weak < num_tokens && IsModerate(decays, num_weak)) ++num_weak;
  PadDecays(num_tokens, padded, decays.decay);
  PadDecays(num_tokens, padded, decays.weight);
  PadDecays(num_weak, padded, decays.inverse);
  chunk.buffers->num_weak = num_weak == num_tokens ? padded : num_weak;
}

// x of one token as whole tiles' elements: in place, or copied to row.
HWY_INLINE const numerics::BFloat16* PaddedX(const AmxChunk& chunk, const Rows& x, int64_t token,
                                             numerics::BFloat16* row) {
  const AmxShape& shape = *chunk.shape;
  int64_t count = 0;
  if (token < chunk.num_tokens()) {
    const auto* from = reinterpret_cast<const numerics::BFloat16*>(x.At(token));
    if (x.element_stride == 1 && shape.headdim == shape.padded_headdim) return from;
    for (; count < shape.headdim; ++count) row[count] = from[count * x.element_stride];
  }
  std::fill(row + count, row + shape.padded_headdim, numerics::BFloat16{});
  return row;
}

// Asks for rows of the next chunk's x, and for the lines of out that this chunk writes there.
HWY_INLINE void PrefetchRows(const AmxChunk& chunk, int64_t token, int64_t count) {
  const int64_t headdim = chunk.shape->headdim;
  const Rows out = RowsFrom(chunk.head->out, chunk.first_token());
  for (int64_t idx = token; idx < token + count; ++idx) {
    if (idx < chunk.next_x.num_tokens) PrefetchRow<kToReadLater>(chunk.next_x.rows, idx, headdim);
    if (!chunk.head->past_caches && idx < chunk.num_tokens()) {
      PrefetchRow<kToWrite>(out, idx, headdim);
    }
  }
}

// Where a row of pairs goes; low null: x_weighted is rounded.
struct XRow {
  uint32_t* x;
  uint32_t* high;
  uint32_t* low;
};

// One row of pairs of x and of weighted x, (headdim_tiles) tiles of them.
template <bool kHasLow>
HWY_INLINE void StoreXRow(const numerics::BFloat16* x_0, const numerics::BFloat16* x_1,
                          UnitVector weight_0, UnitVector weight_1, int64_t num_tiles,
                          const XRow& row) {
  const UnitTag d;
#pragma GCC unroll 4
  for (int64_t tile = 0; tile < num_tiles; ++tile) {
    for (int64_t lane = 0; lane < kTileColumns; lane += kUnitLanes) {
      const PairVector halves_0 = LoadHalves(x_0 + tile * kTileColumns + lane);
      const PairVector halves_1 = hn::ShiftLeft<16>(LoadHalves(x_1 + tile * kTileColumns + lane));
      const int64_t to = tile * kTileElements + lane;
      hn::Store(hn::Or(halves_0, halves_1), PairTag(), row.x + to);
      const UnitVector weighted_0 = hn::Mul(weight_0, FloatOfLow(halves_0));
      const UnitVector weighted_1 = hn::Mul(weight_1, hn::BitCast(d, halves_1));
      if constexpr (kHasLow) {
        hn::Store(PairOfUpper(weighted_0, weighted_1), PairTag(), row.high + to);
        hn::Store(PairOfUpper(RestOfUpper(weighted_0), RestOfUpper(weighted_1)), PairTag(),
                  row.low + to);
      } else {
        hn::Store(PairOfRounded(weighted_0, weighted_1), PairTag(), row.high + to);
      }
    }
  }
}

// Rows [first, end) of 16 of one step's x and weighted x.
template <bool kHasLow>
HWY_INLINE void PrepareRowsOfX(const AmxChunk& chunk, int64_t step, int64_t first, int64_t end,
                               float* rows) {
  const UnitTag d;
  const AmxShape& shape = *chunk.shape;
  const AmxChunkBuffers& buffers = *chunk.buffers;
  const int64_t num_tiles = shape.headdim_tiles();
  const int64_t token = step * kTileDepth + first;
  const Rows x = RowsFrom(chunk.head->x, chunk.first_token());
  const float* weight = buffers.decays.weight + token;
  const int64_t to = step * num_tiles * kTileElements + first * kTileColumns;
  XRow row = {buffers.x + to, buffers.x_weighted + to,
              buffers.x_weighted_low + first * kTileColumns};
  const bool is_direct = x.element_stride == 1 && shape.headdim == shape.padded_headdim &&
                         token + 16 + end - first <= chunk.num_tokens();
  auto* row_0 = reinterpret_cast<numerics::BFloat16*>(rows);
  auto* row_1 = row_0 + shape.padded_headdim;
  for (int64_t idx = 0; idx < end - first; ++idx) {
    const numerics::BFloat16* x_0;
    const numerics::BFloat16* x_1;
    if (is_direct) {
      x_0 = reinterpret_cast<const numerics::BFloat16*>(x.data) + (token + idx) * x.row_stride;
      x_1 = x_0 + 16 * x.row_stride;
    } else {
      x_0 = PaddedX(chunk, x, token + idx, row_0);
      x_1 = PaddedX(chunk, x, token + idx + 16, row_1);
    }
    StoreXRow<kHasLow>(x_0, x_1, hn::Set(d, weight[idx]), hn::Set(d, weight[idx + 16]), num_tiles,
                       row);
    row.x += kTileColumns;
    row.high += kTileColumns;
    row.low += kTileColumns;
  }
}

// The same; asks for the next chunk's x, and for the lines of out that this chunk will write.
inline void PrepareX(const AmxChunk& chunk, int64_t step, int64_t first, int64_t end, float* rows) {
  if (step + 1 == chunk.num_steps()) {
    PrepareRowsOfX<true>(chunk, step, first, end, rows);
  } else {
    PrepareRowsOfX<false>(chunk, step, first, end, rows);
  }
  const int64_t token = step * kTileDepth + first;
  PrefetchRows(chunk, token, end - first);
  PrefetchRows(chunk, token + 16, end - first);
}

// Elements of M from a high part to the low one.
HWY_INLINE int64_t NumLowParts(const AmxShape& shape) {
  return shape.chunk_size / kTileRows * shape.chunk_steps() * kTileElements;
}

// 16 pairs of M, rounded, or as a high and a low part.
HWY_INLINE void StoreParts(const AmxShape& shape, const UnitVector (&values)[kRowVectors],
                           bool has_low, uint32_t* high) {
  uint32_t* low = high + NumLowParts(shape);
  for (int64_t idx = 0; idx < kRowVectors / 2; ++idx) {
    const UnitVector value_0 = values[idx];
    const UnitVector value_1 = values[kRowVectors / 2 + idx];
    if (!has_low) {
      hn::Store(PairOfRounded(value_0, value_1), PairTag(), high + idx * kUnitLanes);
      continue;
    }
    hn::Store(PairOfUpper(value_0, value_1), PairTag(), high + idx * kUnitLanes);
    hn::Store(PairOfUpper(RestOfUpper(value_0), RestOfUpper(value_1)), PairTag(),
              low + idx * kUnitLanes);
  }
}

// One row of one step of M, behind a strong decay: CB[i][j] exp(a_i - a_j) dt_j.
inline void PrepareStrongRow(const AmxChunk& chunk, int64_t i, int64_t step, const float* CB,
                             uint32_t* to) {
  const UnitTag d;
  const HeadBuffers& decays = chunk.buffers->decays;
  UnitVector values[kRowVectors];
  for (int64_t idx = 0; idx < kRowVectors; ++idx) {
    const int64_t j = step * kTileDepth + idx * kUnitLanes;
    const int64_t num_causal = std::clamp<int64_t>(i + 1 - j, 0, kUnitLanes);
    const auto is_causal = hn::FirstN(d, static_cast<size_t>(num_causal));
    const UnitVector exponent =
        DecayBetween(decays, hn::Set(d, decays.a_high[i]), hn::Set(d, decays.a_low[i]), j);
    const UnitVector weight =
        hn::Mul(Exp(d, hn::IfThenElseZero(is_causal, exponent)), hn::Load(d, decays.dt + j));
    const UnitVector value = hn::Mul(hn::Load(d, CB + idx * kUnitLanes), weight);
    values[idx] = CanonicalNaN(hn::IfThenElseZero(is_causal, value));
  }
  StoreParts(*chunk.shape, values, step == i / kTileDepth, to);
}

// Rows [first, end) of the tile of M of 16 rows and one step, some of which stand behind a strong
// decay.
HWY_NOINLINE inline void PrepareStrongM(const AmxChunk& chunk, int64_t row_tile, int64_t step,
                                        int64_t first, int64_t end) {
  const UnitTag d;
  const AmxChunkBuffers& buffers = *chunk.buffers;
  const int64_t tile = row_tile * chunk.shape->chunk_steps() + step;
  const float* CB = chunk.group().CB + tile * 2 * kTileElements;
  UnitVector zeros[kRowVectors];
  for (UnitVector& zero : zeros) zero = hn::Zero(d);
  for (int64_t row = first; row < end; ++row) {
    const int64_t i = row_tile * kTileRows + row;
    const int64_t to = tile * kTileElements + row * kTileColumns;
    if (i < buffers.num_weak || i >= chunk.num_tokens()) {
      StoreParts(*chunk.shape, zeros, /*has_low=*/true, buffers.M_strong + to);
    } else {
      StoreParts(*chunk.shape, zeros, /*has_low=*/true, buffers.M + to);
      PrepareStrongRow(chunk, i, step, CB + row * kTileDepth, buffers.M_strong + to);
    }
  }
}

// CB times exp(-a_j) dt_j: rounded, or as two parts.
template <bool kHasLow>
HWY_INLINE void PrepareRowsOfM(const float* CB, const float* factors, int64_t num_rows,
                               uint32_t* HWY_RESTRICT high, uint32_t* HWY_RESTRICT low) {
  const UnitTag d;
  for (int64_t lane = 0; lane < kTileColumns; lane += kUnitLanes) {
    const UnitVector factor_0 = hn::Load(d, factors + lane);
    const UnitVector factor_1 = hn::Load(d, factors + kTileColumns + lane);
#pragma GCC unroll 4
    for (int64_t row = 0; row < num_rows; ++row) {
      const float* CB_row = CB + row * kTileDepth + lane;
      const UnitVector value_0 = hn::Mul(factor_0, hn::Load(d, CB_row));
      const UnitVector value_1 = hn::Mul(factor_1, hn::Load(d, CB_row + kTileColumns));
      const int64_t to = row * kTileColumns + lane;
      if constexpr (kHasLow) {
        hn::Store(PairOfUpper(value_0, value_1), PairTag(), high + to);
        hn::Store(PairOfUpper(RestOfUpper(value_0), RestOfUpper(value_1)), PairTag(), low + to);
      } else {
        hn::Store(PairOfRounded(value_0, value_1), PairTag(), high + to);
      }
    }
  }
}

// Rows [first, end) of the tile of M of 16 rows and one step.
inline void PrepareM(const AmxChunk& chunk, int64_t row_tile, int64_t step, int64_t first,
                     int64_t end) {
  const AmxShape& shape = *chunk.shape;
  const int64_t tile = row_tile * shape.chunk_steps() + step;
  const float* CB = chunk.group().CB + tile * 2 * kTileElements + first * kTileDepth;
  const float* factors = chunk.buffers->decays.inverse + step * kTileDepth;
  uint32_t* to = chunk.buffers->M + tile * kTileElements + first * kTileColumns;
  if (step == row_tile / 2) {
    PrepareRowsOfM<true>(CB, factors, end - first, to, to + NumLowParts(shape));
  } else {
    PrepareRowsOfM<false>(CB, factors, end - first, to, nullptr);
  }
  if (chunk.HasStrong(row_tile / 2)) PrepareStrongM(chunk, row_tile, step, first, end);
}

// Everything above in pieces that are numbered, the decays first.
class AmxPreparation {
 public:
  AmxPreparation() = default;
  AmxPreparation(const AmxChunk& chunk, float* rows) : chunk_(chunk), rows_(rows) {
    if (chunk.head == nullptr) return;
    const int64_t num_steps = chunk.num_steps();
    // Of M there are 2 (step + 1) tiles of a step's rows.
    num_x_ = num_steps * kPiecesOfX;
    num_pieces_ = 1 + num_x_ + num_steps * (num_steps + 1) * kPiecesOfM;
  }

  int64_t num_pieces() const { return num_pieces_; }
  int64_t num_left() const { return num_pieces_ - num_done_; }

  void DoPiece() {
    const int64_t piece = num_done_++;
    if (piece == 0) return PrepareDecays(chunk_);
    if (piece <= num_x_) {
      constexpr int64_t kRows = kTileRows / kPiecesOfX;
      const int64_t first = (piece - 1) % kPiecesOfX * kRows;
      return PrepareX(chunk_, (piece - 1) / kPiecesOfX, first, first + kRows, rows_);
    }
    constexpr int64_t kRows = kTileRows / kPiecesOfM;
    PrepareM(chunk_, row_tile_, step_, first_row_, first_row_ + kRows);
    first_row_ += kRows;
    if (first_row_ < kTileRows) return;
    first_row_ = 0;
    if (++step_ <= row_tile_ / 2) return;
    step_ = 0;
    ++row_tile_;
  }
  void Finish() {
    while (num_left() > 0) DoPiece();
  }

 private:
  static constexpr int64_t kPiecesOfX = 8;
  static constexpr int64_t kPiecesOfM = 2;

  AmxChunk chunk_;
  float* rows_ = nullptr;
  int64_t num_x_ = 0;
  int64_t num_pieces_ = 0;
  int64_t num_done_ = 0;
  int64_t row_tile_ = 0;
  int64_t step_ = 0;
  int64_t first_row_ = 0;
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_PREPARE_INL_H_
