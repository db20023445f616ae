// A chunk of the forms for bf16 operands, transposed: columns are tokens. So the tiles of a head of
// its own, its state and its x, are left operands, which may come from registers.
//
//   M_ij = CB_ij 2^(a_i - a_j) dt_j for j <= i, else 0
//   y^T = H C^T 2^a + x^T M^T + D x^T ;  with z: y^T *= silu(z^T)
//   H becomes 2^a_last H + (weight x)^T B
#ifndef TILESCAN_TILE_CHUNK_TERMS_H_
#define TILESCAN_TILE_CHUNK_TERMS_H_

#include "tile/chunk_tiles.h"
#include "tile/views.h"

namespace tilescan::tile {

using ChannelsByTokens = Tile<float, kChannels, kChunkTile>;
using TokenLine = Tile<float, 1, kChunkTile>;

// What chunk_cumsum wrote of a head of a slot.
struct HeadChunk {
  TokenLine dt, a_high, a_low, weights;
  // Of the decays from the chunk's start to each token and over all of it: multiplied with twice,
  // so that what is 0 stays 0 where a decay overflows.
  TokenLine decay_roots;
  Tile<float, 1, 1> last_root, last_exponent;
};

__tile__ inline HeadChunk HeadChunkOf(Tile<float, kTokenRows, kChunkTile> rows) {
  using Line = ct::shape<1, kChunkTile>;
  constexpr int32_t last = kChunkTile - 1;
  const auto a_high = ct::extract(rows, Line{}, kHigh, 0);
  const auto last_exponent = ct::extract(rows, ct::shape<1, 1>{}, kHigh, last);
  return {ct::extract(rows, Line{}, kStep, 0),
          a_high,
          ct::extract(rows, Line{}, kLow, 0),
          ct::extract(rows, Line{}, kWeight, 0),
          ct::exp2(a_high * 0.5f),
          ct::exp2(last_exponent * 0.5f),
          last_exponent};
}

template <typename View>
__tile__ HeadChunk LoadHeadChunk(View token_rows, int32_t slot, int32_t head_idx) {
  return HeadChunkOf(ct::reshape(LoadAhead(token_rows, slot, head_idx, 0, 0),
                                 ct::shape<kTokenRows, kChunkTile>{}));
}

__tile__ inline TokenColumn AsColumn(TokenLine line) {
  return ct::reshape(line, ct::shape<kChunkTile, 1>{});
}

// M^T. As WeighPairs().
__tile__ inline Tile<__nv_bfloat16, kChunkTile, kChunkTile> WeighTransposed(
    TokenPairs CB_transposed, HeadChunk chunk) {
  const auto is_seen = RowIndices<kChunkTile>() <= ColumnIndices<kChunkTile>();
  const auto exponents = (chunk.a_high - AsColumn(chunk.a_high)) +  //
                         (chunk.a_low - AsColumn(chunk.a_low));
  const auto zero = ct::zeros<TokenPairs>();
  const auto decay =
      ct::exp2(ct::select(is_seen, exponents, zero), ct::round_subnormals_to_zero_t{});
  const auto weighed = CB_transposed * decay * AsColumn(chunk.dt);
  return ct::element_cast<__nv_bfloat16>(ct::select(is_seen, weighed, zero));
}

__tile__ inline Tile<__nv_bfloat16, kChunkTile, kChunkTile> WeighTransposed(
    Tile<__nv_bfloat16, kChunkTile, kChunkTile> CB, HeadChunk chunk) {
  return WeighTransposed(ct::element_cast<float>(ct::transpose(CB)), chunk);
}

// weight x, transposed, for the state.
__tile__ inline Tile<__nv_bfloat16, kChannels, kChunkTile> WeighInput(
    Tile<__nv_bfloat16, kChunkTile, kChannels> x, HeadChunk chunk) {
  return ct::element_cast<__nv_bfloat16>(ct::element_cast<float>(ct::transpose(x)) * chunk.weights);
}

// The rows of one of kChunks chunks.
template <size_t kChunks, typename T, size_t kRows, size_t kColumns>
__tile__ Tile<T, kRows / kChunks, kColumns> ChunkOf(Tile<T, kRows, kColumns> rows, int32_t idx) {
  return ct::extract(rows, ct::shape<kRows / kChunks, kColumns>{}, idx, 0);
}

template <size_t kStates>
__tile__ Tile<float, kChannels, kStates> AddChunk(Tile<float, kChannels, kStates> state,
                                                  Tile<__nv_bfloat16, kChunkTile, kChannels> x,
                                                  Tile<__nv_bfloat16, kChunkTile, kStates> B,
                                                  HeadChunk chunk) {
  return ct::mma(WeighInput(x, chunk), B, state * chunk.last_root * chunk.last_root);
}

// A tile of a view (batch or slots, tokens or heads, .., columns) as a matrix.
template <size_t kRows, size_t kColumns, typename View>
__tile__ auto LoadMatrix(View view, int32_t first, int32_t second, int32_t third, int32_t fourth) {
  return ct::reshape(LoadAhead(view, first, second, third, fourth), ct::shape<kRows, kColumns>{});
}

// Stores y^T as tokens by channels.
template <typename View>
__tile__ void StoreOut(ChannelsByTokens y, View out, int32_t row_idx, int32_t chunk,
                       int32_t head_idx, int32_t channel_tile) {
  const auto rounded = ct::transpose(ct::element_cast<__nv_bfloat16>(y));
  out.store_masked(ct::reshape(rounded, ct::shape<1, kChunkTile, 1, kChannels>{}), row_idx, chunk,
                   head_idx, channel_tile);
}

// ---- states, compact fp32 (rows, nheads, headdim, dstate) ----

struct StatePlace {
  int32_t row_idx, head_idx, channel_tile, state_tile;
};

template <size_t kStates, typename View>
__tile__ Tile<float, kChannels, kStates> LoadState(View view, StatePlace place) {
  return ct::reshape(
      view.load_masked(place.row_idx, place.head_idx, place.channel_tile, place.state_tile),
      ct::shape<kChannels, kStates>{});
}

template <size_t kStates, typename View>
__tile__ void StoreState(Tile<float, kChannels, kStates> state, View view, StatePlace place) {
  view.store_masked(ct::reshape(state, ct::shape<1, 1, kChannels, kStates>{}), place.row_idx,
                    place.head_idx, place.channel_tile, place.state_tile);
}

// The chunks of a row that a program walks. piece_row counts pieces from row to row.
struct PieceOfRow {
  int32_t row_idx, piece_row, first_chunk, end_chunk;
  bool is_last;  // of its row
};
__tile__ inline PieceOfRow FindPiece(int32_t row_idx, int32_t piece_idx, int32_t num_pieces,
                                     int32_t piece_chunks, int32_t num_chunks) {
  const int32_t first_chunk = piece_idx * piece_chunks;
  const bool is_last = piece_idx + 1 == num_pieces;
  return {row_idx, row_idx * num_pieces + piece_idx, first_chunk,
          is_last ? num_chunks : first_chunk + piece_chunks, is_last};
}

// How far a walk along a row is towards the next state that states_out asks for.
struct StatesOutWalk {
  int32_t num_chunks_left, num_stored;
};
__tile__ inline StatesOutWalk WalkFrom(int32_t first_chunk, int32_t span_chunks) {
  return {span_chunks - first_chunk % span_chunks, first_chunk / span_chunks};
}

// Behind a chunk.
template <size_t kStates, typename View>
__tile__ StatesOutWalk StoreIfAsked(Tile<float, kChannels, kStates> state, View states_out,
                                    StatePlace place, int32_t span_chunks, int32_t num_states_out,
                                    StatesOutWalk walk) {
  walk.num_chunks_left -= 1;
  if (walk.num_chunks_left == 0) {
    if (walk.num_stored < num_states_out) {
      const int32_t row_idx = place.row_idx * num_states_out + walk.num_stored;
      StoreState(state, states_out,
                 StatePlace{row_idx, place.head_idx, place.channel_tile, place.state_tile});
    }
    walk.num_stored += 1;
    walk.num_chunks_left = span_chunks;
  }
  return walk;
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_CHUNK_TERMS_H_
