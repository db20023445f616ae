// The forms of the scan's forward in CUDA Tile C++, as rows for the planner (plan/variant.h).
//
//   general_tiles  any dtype but float64, stride, alignment and size; seq_idx and cu_seqlens. Three
//                  stages, each parallel over heads, the first and the last over chunks as well.
//                  Chunks of at most 64 tokens; with states_out they are shortened so that they end
//                  where states are asked for.
//   stages_tiles   the same stages for bf16 operands in whole vectors, one sequence a batch row, in
//                  chunks of 64 tokens whatever is asked for.
//   stream_tiles   those operands with dstate up to 128 and no states_out, in one walk along each
//                  row: faster, and without the states of all chunks in memory.
//
// The last two cut rows in pieces where batch * nheads does not fill the machine (row_pieces.h).
//
// Values of cu_seqlens and seq_idx are read on the device and not checked: whatever they are, only
// the tensors' memory is touched.
#ifndef TILESCAN_TILE_SCAN_FORWARD_H_
#define TILESCAN_TILE_SCAN_FORWARD_H_

#include "plan/variant.h"

namespace tilescan::tile {

ScanForwardVariant GeneralTiles();
ScanForwardVariant StagesTiles();
ScanForwardVariant StreamTiles();

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_FORWARD_H_
