// The tokens of a chunk, as tile programs see them: where they lie, which are used, which runs they
// belong to, and the exponents of the decays between them.
#ifndef TILESCAN_TILE_CHUNK_TILES_H_
#define TILESCAN_TILE_CHUNK_TILES_H_

#include "tile/chunk_size.h"
#include "tile/tiles.h"

namespace tilescan::tile {

using RunTile = Tile<int32_t, kChunkTile, 1>;
using TokenColumn = Tile<float, kChunkTile, 1>;
using TokenPairs = Tile<float, kChunkTile, kChunkTile>;
using PairMask = Tile<bool, kChunkTile, kChunkTile>;

struct ChunkPlace {
  int64_t batch_idx, first_token;  // first_token along seqlen
  int32_t num_tokens;              // 0: the slot holds no chunk
};

// From the table, or without one: each batch row is cut at multiples of kChunkTile.
__tile__ inline ChunkPlace FindChunk(const int64_t* first_token, const int64_t* batch_idx,
                                     const int32_t* num_tokens, int64_t slot, int64_t seqlen) {
  ChunkPlace chunk{0, 0, 0};
  if (num_tokens != nullptr) {
    chunk.batch_idx = batch_idx[slot];
    chunk.first_token = first_token[slot];
    chunk.num_tokens = num_tokens[slot];
  } else {
    constexpr int64_t tile_size = kChunkTile;
    const int64_t chunks_per_row = (seqlen + tile_size - 1) / tile_size;
    chunk.batch_idx = slot / chunks_per_row;
    chunk.first_token = slot % chunks_per_row * tile_size;
    chunk.num_tokens = CountFrom<kChunkTile>(chunk.first_token, seqlen);
  }
  return chunk;
}

// values (.., kChunkTile), compact.
template <typename T>
__tile__ Tile<T, kChunkTile, 1> LoadTokens(const T* values, int64_t idx) {
  return ct::load(values + idx * static_cast<int64_t>(kChunkTile) + RowIndices<kChunkTile>());
}

// A row of what chunk_cumsum wrote of a head of a slot.
__tile__ inline TokenColumn LoadTokenRow(const float* token_rows, int64_t head_slot, TokenRow row) {
  return LoadTokens(token_rows, head_slot * static_cast<int64_t>(kTokenRows) + row);
}

// The run of each token, and whether the token is used: not padding, and not behind the chunk.
struct TokenRuns {
  RunTile run;
  Tile<bool, kChunkTile, 1> is_used;
};

// run_codes (num_slots, kChunkTile) as cuda/scan_chunks.h; without them every token is of run 0.
__tile__ inline TokenRuns LoadRuns(const int32_t* run_codes, int64_t slot, ChunkPlace chunk) {
  const auto tokens = RowIndices<kChunkTile>();
  auto codes = ct::zeros<RunTile>();
  if (run_codes != nullptr) {
    codes = LoadTokens(run_codes, slot);
  } else {
    codes = ct::select(tokens < chunk.num_tokens, codes, ct::full<RunTile>(-1));
  }
  return {ct::select(codes < 0, ~codes, codes), codes >= 0};
}

struct ChunkExponents {
  TokenColumn dt, a_high, a_low;
};
__tile__ inline ChunkExponents LoadExponents(const float* token_rows, int64_t head_slot) {
  return {LoadTokenRow(token_rows, head_slot, kStep), LoadTokenRow(token_rows, head_slot, kHigh),
          LoadTokenRow(token_rows, head_slot, kLow)};
}

template <typename TileType>
__tile__ Tile<ct::tile_element_t<TileType>, 1, kChunkTile> AsRow(TileType column) {
  return ct::reshape(column, ct::shape<1, kChunkTile>{});
}

// CB * 2^(a_i - a_j) * dt_j where row i sees row j, else 0. Masked before the exponential, which
// then never meets the exponents of tokens to come; and selected after it, because CB may hold NaN
// there. A decay below 2^-126 counts as 0.
__tile__ inline TokenPairs WeighPairs(TokenPairs CB, ChunkExponents exponents, PairMask sees_row) {
  const auto high = exponents.a_high - AsRow(exponents.a_high);
  const auto low = exponents.a_low - AsRow(exponents.a_low);
  const auto zero = ct::zeros<TokenPairs>();
  const auto decay =
      ct::exp2(ct::select(sees_row, high + low, zero), ct::round_subnormals_to_zero_t{});
  return ct::select(sees_row, CB * decay * AsRow(exponents.dt), zero);
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_CHUNK_TILES_H_
