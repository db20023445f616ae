// The tokens of a tile, and what the stages pass to each other of each token.
#ifndef TILESCAN_TILE_CHUNK_SIZE_H_
#define TILESCAN_TILE_CHUNK_SIZE_H_

#include <cstddef>
#include <cstdint>

namespace tilescan::tile {

// The most tokens that a chunk may have.
inline constexpr size_t kChunkTile = 64;

// Of headdim in a tile of the bf16 forms.
inline constexpr size_t kChannels = 64;

// That a walk for states alone takes at a time: a piece of a row has a multiple of it.
inline constexpr int32_t kPairChunks = 2;

// Of dstate, likewise as kChannels, at most.
inline constexpr size_t kMostTileStates = 128;

// Rows of kChunkTile floats that chunk_cumsum writes for each slot and head: the steps dt; the
// exponents a of the decays from the chunk's start, as two floats; the weights of the tokens in the
// state after the chunk.
enum TokenRow : int32_t { kStep, kHigh, kLow, kWeight };
inline constexpr size_t kTokenRows = 4;

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_CHUNK_SIZE_H_
