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

// Rows [first, end) of 16 of one step's x and weighted x.
inline void PrepareX(const AmxChunk& chunk, int64_t step, int64_t first, int64_t end,
                     float* rows) {
  const UnitTag d;
  const AmxShape& shape = *chunk.shape;
  const Rows x = RowsFrom(chunk.head->x, chunk.first_token());
  auto* row_0 = reinterpret_cast<numerics::BFloat16*>(rows);
  auto* row_1 = row_0 + shape.padded_headdim;
  const int64_t first_tile = step * shape.headdim_tiles();
  for (int64_t row = first; row < end; ++row) {
    const int64_t token = step * kTileDepth + row;
    for (const int64_t next : {token, token + 16}) {
      if (next < chunk.next_x.num_tokens) PrefetchRow(chunk.next_x.rows, next, shape.headdim);
    }
    const numerics::BFloat16* x_0 = PaddedX(chunk, x, token, row_0);
    const numerics::BFloat16* x_1 = PaddedX(chunk, x, token + 16, row_1);
    const UnitVector weight_0 = hn::Set(d, chunk.buffers->decays.weight[token]);
    const UnitVector weight_1 = hn::Set(d, chunk.buffers->decays.weight[token + 16]);
    for (int64_t tile = 0; tile < shape.headdim_tiles(); ++tile) {
      const int64_t to = (first_tile + tile) * kTileElements + row * kTileColumns;
      for (int64_t lane = 0; lane < kTileColumns; lane += kUnitLanes) {
        const PairVector halves_0 = LoadHalves(x_0 + tile * kTileColumns + lane);
        const PairVector halves_1 =
            hn::ShiftLeft<16>(LoadHalves(x_1 + tile * kTileColumns + lane));
        hn::Store(hn::Or(halves_0, halves_1), PairTag(), chunk.buffers->x + to + lane);
        const PairVector weighted =
            PairOfRounded(hn::Mul(weight_0, FloatOfLow(halves_0)),
                          hn::Mul(weight_1, hn::BitCast(d, halves_1)));
        hn::Store(weighted, PairTag(), chunk.buffers->x_weighted + to + lane);
      }
    }
  }
}

// The high and the low part of 16 pairs of M.
HWY_INLINE void StoreParts(const AmxShape& shape, const UnitVector (&values)[kRowVectors],
                           uint32_t* high) {
  uint32_t* low = high + shape.chunk_size / kTileRows * shape.chunk_steps() * kTileElements;
  for (int64_t idx = 0; idx < kRowVectors / 2; ++idx) {
    const UnitVector value_0 = values[idx];
    const UnitVector value_1 = values[kRowVectors / 2 + idx];
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
    const UnitVector exponent = DecayBetween(decays, hn::Set(d, decays.a_high[i]),
                                             hn::Set(d, decays.a_low[i]), j);
    const UnitVector weight = hn::Mul(Exp(d, hn::IfThenElseZero(is_causal, exponent)),
                                      hn::Load(d, decays.dt + j));
    const UnitVector value = hn::Mul(hn::Load(d, CB + idx * kUnitLanes), weight);
    values[idx] = CanonicalNaN(hn::IfThenElseZero(is_causal, value));
  }
  StoreParts(*chunk.shape, values, to);
}

// Rows [first, end) of the tile of M of 16 rows and one step.
inline void PrepareM(const AmxChunk& chunk, int64_t row_tile, int64_t step, int64_t first,
                     int64_t end) {
  const UnitTag d;
  const AmxShape& shape = *chunk.shape;
  const AmxChunkBuffers& buffers = *chunk.buffers;
  const int64_t tile = row_tile * shape.chunk_steps() + step;
  const float* CB = chunk.group().CB + tile * 2 * kTileElements;
  UnitVector factors[kRowVectors];
  for (int64_t idx = 0; idx < kRowVectors; ++idx) {
    factors[idx] = hn::Load(d, buffers.decays.inverse + step * kTileDepth + idx * kUnitLanes);
  }
  const bool has_strong = chunk.HasStrong(row_tile / 2);
  for (int64_t row = first; row < end; ++row) {
    const int64_t i = row_tile * kTileRows + row;
    const int64_t to = tile * kTileElements + row * kTileColumns;
    const bool is_strong = has_strong && i >= buffers.num_weak;
    UnitVector values[kRowVectors];
    for (int64_t idx = 0; idx < kRowVectors; ++idx) {
      values[idx] = is_strong ? hn::Zero(d)
                              : hn::Mul(factors[idx],
                                        hn::Load(d, CB + row * kTileDepth + idx * kUnitLanes));
    }
    StoreParts(shape, values, buffers.M + to);
    if (!has_strong) continue;
    if (is_strong && i < chunk.num_tokens()) {
      PrepareStrongRow(chunk, i, step, CB + row * kTileDepth, buffers.M_strong + to);
    } else {
      for (UnitVector& value : values) value = hn::Zero(d);
      StoreParts(shape, values, buffers.M_strong + to);
    }
  }
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
