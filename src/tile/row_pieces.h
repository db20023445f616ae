// How rows are cut where batch and heads are too few to fill the GPU: in pieces that are walked at
// once. A pass before walks all pieces of a row but the last, for their states alone: from zero,
// each with its decay. join_pieces.cu makes of them the state before each piece.
#ifndef TILESCAN_TILE_ROW_PIECES_H_
#define TILESCAN_TILE_ROW_PIECES_H_

#include <cstdint>

#include "core/scan_forward.h"

namespace tilescan::tile {

// All pieces of a row have piece_chunks chunks, an even number, but the last, which has the rest
// and at least one.
struct RowPieces {
  int32_t num_pieces = 1;
  int32_t piece_chunks = 0;
};

// Programs that walk and share a multiprocessor, which their kernels are compiled for.
inline constexpr int32_t kWalksPerMultiprocessor = 2;

// What walks the pieces once their first states are known.
enum class PieceWalk : int32_t { kEntryStates, kStream };

// Follows from sizes and the number of multiprocessors alone, so that a problem is cut the same way
// each time. Sizes that a bf16 form takes, with seqlen above 0.
RowPieces CutRows(const ScanSizes& sizes, PieceWalk walk, int32_t num_multiprocessors);

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_ROW_PIECES_H_
