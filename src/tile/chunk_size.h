// The tokens of a tile: the most that a chunk may have.
#ifndef TILESCAN_TILE_CHUNK_SIZE_H_
#define TILESCAN_TILE_CHUNK_SIZE_H_

#include <cstddef>

namespace tilescan::tile {

inline constexpr size_t kChunkTile = 64;

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_CHUNK_SIZE_H_
