// The first stage of the scan: the steps of a chunk and the exponents of its decays.
//
//   dt = clamp(softplus(dt + dt_bias), dt_limit)                      as numerics/processed_dt.h
//   a_i = log2(e) * sum over s <= i of dt_s A                         i, s tokens of the chunk
//   state_weights_i = 2^(a_last - a_i) dt_i, 0 outside the run of the chunk's last token
//   chunk_decay = 2^a_last
//
// dt (batch, seqlen, nheads), A dt_bias (nheads), any float each; to token_rows (num_slots, nheads,
// 4, 64) as TokenRow, and chunk_decay (num_slots, nheads), fp32. a is summed in fp64 and kept as
// two floats, high and what it lacks, because decays are exponentials of differences that cancel:
// behind a strong decay one float would have lost the weak steps. One token's exponent is bounded
// to +-1e5: its decay is 0 or infinite there, and the bound keeps it from drowning those behind it.
// Where a slot has fewer than 64 tokens, and in padding, the step is 0 and a stands still.
//
// A program a slot and 16 heads: a tile (64, 16) of dt, scanned along the tokens. Bound by reading
// dt and writing four floats for each of its elements.
#include "cuda/launch.cuh"
#include "tile/chunk_tiles.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr size_t kHeads = 16;
using Steps = Tile<float, kChunkTile, kHeads>;
using Exponents = Tile<double, kChunkTile, kHeads>;
using PerHead = Tile<float, 1, kHeads>;

// log(1 + exp(value)), value itself above 20: max(value, 0) + log(1 + u), u = exp(-|value|), with
// log(1 + u) = 2 atanh(u / (2 + u)) by its series, within 2e-9 relative of it as s <= 1/3.
// log(1 + ...) as such would lose small steps.
__tile__ Steps Softplus(Steps value) {
  const auto u = ct::exp(-ct::abs(value));
  const auto s = u / (u + 2.0f);
  const auto s2 = s * s;
  auto series = s2 * (1.0f / 17.0f) + (1.0f / 15.0f);
  series = series * s2 + (1.0f / 13.0f);
  series = series * s2 + (1.0f / 11.0f);
  series = series * s2 + (1.0f / 9.0f);
  series = series * s2 + (1.0f / 7.0f);
  series = series * s2 + (1.0f / 5.0f);
  series = series * s2 + (1.0f / 3.0f);
  const auto log1p = (s + s * s2 * series) * 2.0f;
  const auto positive = ct::select(value > 0.0f, value, ct::zeros<Steps>());
  return ct::select(value > 20.0f, value, positive + log1p);
}

// Both comparisons let NaN pass.
__tile__ Steps Clamp(Steps value, float least, float most) {
  value = ct::select(value < least, ct::full<Steps>(least), value);
  return ct::select(value > most, ct::full<Steps>(most), value);
}

// log2(e) dt A, bounded; NaN passes.
__tile__ Exponents ExponentsOfTokens(Steps dt, PerHead A) {
  constexpr double kLog2eDouble = 1.44269504088896340736;
  constexpr double kMost = 1e5 * kLog2eDouble;
  auto dA = ct::element_cast<double>(dt) * (ct::element_cast<double>(A) * kLog2eDouble);
  dA = ct::select(dA < -kMost, ct::full<Exponents>(-kMost), dA);
  return ct::select(dA > kMost, ct::full<Exponents>(kMost), dA);
}

// The running sum where a NaN must not leave its run: what is NaN counts as 0 in the sum, and then
// makes the later sums of its own run NaN.
__tile__ Exponents SumInsideRuns(Exponents dA, TokenRuns runs) {
  const auto is_nan = dA != dA;
  auto a = ct::partial_sum<0>(ct::select(is_nan, ct::zeros<Exponents>(), dA));
  if (!AllOf(dA == dA)) {
    const auto rows = RowIndices<kChunkTile>();
    const auto flags = ct::select(is_nan, ct::ones<Steps>(), ct::zeros<Steps>());
    for (int32_t j = 0; j < static_cast<int32_t>(kChunkTile); ++j) {
      const auto is_row = rows == j;
      const auto flag = ct::sum<0>(ct::select(is_row, flags, ct::zeros<Steps>()));
      const auto run = ct::sum<0>(ct::select(is_row, runs.run, ct::zeros<RunTile>()));
      const auto sees = rows >= j && runs.run == run && flag > 0.0f;
      a = ct::select(sees, ct::full<Exponents>(static_cast<double>(kNan)), a);
    }
  }
  return a;
}

template <typename T, size_t kColumns>
__tile__ Tile<T, 1, kColumns> LastRow(Tile<T, kChunkTile, kColumns> values) {
  const auto is_last = RowIndices<kChunkTile>() == static_cast<int32_t>(kChunkTile) - 1;
  return ct::sum<0>(ct::select(is_last, values, ct::zeros<Tile<T, kChunkTile, kColumns>>()));
}

// values: a column for each head from head_slot on.
__tile__ void StoreTokenRow(float* token_rows, int64_t head_slot, TokenRow row, Steps values,
                            Tile<bool, 1, kHeads> is_head) {
  constexpr int32_t head_stride = kTokenRows * kChunkTile;
  const int64_t first =
      head_slot * static_cast<int64_t>(head_stride) + row * static_cast<int64_t>(kChunkTile);
  const auto offsets = RowIndices<kHeads>() * head_stride + ColumnIndices<kChunkTile>();
  ct::store_masked(token_rows + first + offsets, ct::transpose(values), ct::transpose(is_head));
}

[[using cutile: hint(900, occupancy = 8)]] __tile_global__ void ChunkCumsum(
    const void* dt, int32_t dt_dtype, int64_t dt_batch_stride, int64_t dt_token_stride,
    int64_t dt_head_stride, const void* A, int32_t A_dtype, int64_t A_stride, const void* dt_bias,
    int32_t dt_bias_dtype, int64_t dt_bias_stride, int32_t dt_softplus, float dt_limit_min,
    float dt_limit_max, const int64_t* first_token, const int64_t* batch_idx,
    const int32_t* num_tokens, const int32_t* run_codes, int64_t seqlen, int64_t nheads,
    float* token_rows, float* chunk_decay) {
  const int64_t num_head_tiles = (nheads + kHeads - 1) / kHeads;
  const int64_t slot = ct::bid().x / num_head_tiles;
  const ChunkPlace chunk = FindChunk(first_token, batch_idx, num_tokens, slot, seqlen);
  if (chunk.num_tokens == 0) return;
  const int64_t first_head = ct::bid().x % num_head_tiles * kHeads;
  const auto heads = ColumnIndices<kHeads>();
  const auto is_head = heads < CountFrom<kHeads>(first_head, nheads);
  const TokenRuns runs = LoadRuns(run_codes, slot, chunk);

  const Matrix dt_matrix{dt, dt_dtype,
                         chunk.batch_idx * dt_batch_stride + chunk.first_token * dt_token_stride +
                             first_head * dt_head_stride,
                         dt_token_stride, dt_head_stride};
  auto step = LoadFloats<int64_t>(dt_matrix, runs.is_used && is_head);
  if (dt_bias != nullptr) {
    const Matrix bias{dt_bias, dt_bias_dtype, first_head * dt_bias_stride, 0, dt_bias_stride};
    step = step + LoadFloats<int64_t>(bias, is_head);
  }
  if (dt_softplus != 0) step = Softplus(step);
  step = Clamp(step, dt_limit_min, dt_limit_max);
  step = ct::select(runs.is_used, step, ct::zeros<Steps>());

  const auto A_head =
      LoadFloats<int64_t>(Matrix{A, A_dtype, first_head * A_stride, 0, A_stride}, is_head);
  const auto dA = ct::select(runs.is_used, ExponentsOfTokens(step, A_head), ct::zeros<Exponents>());
  auto a = ct::zeros<Exponents>();
  if (run_codes == nullptr) {
    a = ct::partial_sum<0>(dA);
  } else {
    a = SumInsideRuns(dA, runs);
  }
  const auto high = ct::element_cast<float>(a);
  const auto low = ct::element_cast<float>(a - ct::element_cast<double>(high));

  // Those of the last token: unused tokens behind it repeat its exponents and its run.
  const auto last_high = LastRow(high);
  const auto last_low = LastRow(low);
  const auto is_kept = runs.is_used && runs.run == LastRow(runs.run);
  const auto weights = ct::select(is_kept, ct::exp2((last_high - high) + (last_low - low)) * step,
                                  ct::zeros<Steps>());

  const int64_t head_slot = slot * nheads + first_head;
  StoreTokenRow(token_rows, head_slot, kStep, step, is_head);
  StoreTokenRow(token_rows, head_slot, kHigh, high, is_head);
  StoreTokenRow(token_rows, head_slot, kLow, low, is_head);
  StoreTokenRow(token_rows, head_slot, kWeight, weights, is_head);
  ct::store_masked(chunk_decay + head_slot + heads, Exp2OfSum(last_high, last_low), is_head);
}

}  // namespace

Status LaunchChunkCumsum(const StageCall& call) {
  if (call.only_loads) return cuda::LoadKernel("ChunkCumsum", ChunkCumsum);
  const ScanForwardOperands& operands = call.problem.operands;
  const ScanSizes& sizes = call.problem.sizes;
  const TensorView& dt = operands.dt;
  const TensorView& A = operands.A;
  const TensorView& dt_bias = operands.dt_bias;
  const StageBuffers& buffers = call.buffers;
  const int64_t num_programs = call.num_slots * CeilDiv(sizes.nheads, kHeads);
  if (num_programs == 0) return Status();
  ChunkCumsum<<<GridOf(num_programs), 1, 0, call.stream>>>(
      dt.data, DTypeCode(dt), dt.strides[0], dt.strides[1], dt.strides[2], A.data, DTypeCode(A),
      A.strides[0], dt_bias.data, DTypeCode(dt_bias), dt_bias.strides[0],
      operands.dt_softplus ? 1 : 0, operands.dt_limit_min, operands.dt_limit_max,
      buffers.chunks.first_token, buffers.chunks.batch_idx, buffers.chunks.num_tokens,
      buffers.runs.of_slots, sizes.seqlen, sizes.nheads, buffers.token_rows, buffers.chunk_decay);
  return cuda::StatusOf(cudaGetLastError(), "ChunkCumsum");
}

}  // namespace tilescan::tile
