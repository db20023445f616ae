#include "tile/row_pieces.h"

#include <algorithm>
#include <limits>

#include "tile/chunk_size.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

// Costs in units of what a chunk costs the pass for states alone, estimated from how long the walks
// take where rows are whole: a chunk costs the walk that stores entry states about two, that which
// makes out about six. Both passes load or store a state for each piece; the states of a row's
// pieces are joined one after another; the pass and the join cost their start and their end.
constexpr int64_t kEntryChunkCost = 2;
constexpr int64_t kStreamChunkCost = 6;
constexpr int64_t kStateCost = 2;
constexpr int64_t kJoinCost = 1;
constexpr int64_t kPassCost = 16;
constexpr int64_t kMostPieces = 64;
// The states before all pieces are a view with 32-bit indices.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

// Programs run in waves that fill the GPU.
int64_t CostOfWalks(int64_t num_walks, int64_t num_programs, int64_t walk_cost) {
  return CeilDiv(num_walks, num_programs) * walk_cost;
}

}  // namespace

RowPieces CutRows(const ScanSizes& sizes, PieceWalk walk, int32_t num_multiprocessors) {
  const int64_t num_chunks = CeilDiv(sizes.seqlen, kChunkTile);
  const int64_t num_states = sizes.batch * sizes.nheads * sizes.headdim * sizes.dstate;
  const int64_t num_walks = sizes.batch * sizes.nheads * CeilDiv(sizes.headdim, kChannels) *
                            CeilDiv(sizes.dstate, kMostTileStates);
  const int64_t num_programs = int64_t{num_multiprocessors} * kWalksPerMultiprocessor;
  const int64_t chunk_cost = walk == PieceWalk::kStream ? kStreamChunkCost : kEntryChunkCost;

  RowPieces best{1, static_cast<int32_t>(num_chunks)};
  if (num_walks == 0 || num_walks >= num_programs) return best;
  int64_t best_cost = num_chunks * chunk_cost;
  const int64_t most_pieces = std::min({num_chunks, kMostPieces, kMostElements / num_states});
  for (int64_t pieces = 2; pieces <= most_pieces; ++pieces) {
    const int64_t piece_chunks = CeilDiv(num_chunks, pieces * kPairChunks) * kPairChunks;
    const int64_t num_pieces = CeilDiv(num_chunks, piece_chunks);
    const int64_t cost =
        CostOfWalks(num_walks * num_pieces, num_programs, piece_chunks * chunk_cost + kStateCost) +
        CostOfWalks(num_walks * (num_pieces - 1), num_programs, piece_chunks + kStateCost) +
        num_pieces * kJoinCost + kPassCost;
    if (cost < best_cost) {
      best = {static_cast<int32_t>(num_pieces), static_cast<int32_t>(piece_chunks)};
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace tilescan::tile
