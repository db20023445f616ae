#include "hopper/scan_pieces.h"

#include <algorithm>

namespace tilescan::hopper {
namespace {

int32_t CeilDiv(int32_t value, int32_t divisor) { return (value + divisor - 1) / divisor; }

// Costs of kPieces in halves of what a chunk costs in the pass that makes out: a chunk costs the
// pass for states about half as much; that pass itself, with the start of its blocks and the
// joining of the states, about eight chunks.
constexpr int64_t kChunkCost = 2;
constexpr int64_t kStateChunkCost = 1;
constexpr int64_t kPassCost = 16;
// More parts share the pass for states out more evenly, but each begins and ends with its state.
constexpr int32_t kMostPartsPerPiece = 4;

int64_t CostOf(const ScanPlan& plan) {
  if (plan.cut != ScanCut::kPieces) {
    return kChunkCost * CeilDiv(plan.num_tasks, plan.num_workers) * plan.nchunks;
  }
  const int32_t num_parts = plan.num_parts() * plan.num_tasks;
  const int64_t parts_of_worker = CeilDiv(num_parts, plan.num_state_workers);
  return kChunkCost * plan.parts_per_piece * plan.part_chunks +
         kStateChunkCost * parts_of_worker * plan.part_chunks + kPassCost;
}

// Each task in pieces_per_task pieces, or fewer where chunks are too few to fill them.
ScanPlan CutInPieces(ScanPlan plan, int32_t pieces_per_task, int32_t parts_per_piece,
                     int32_t num_multiprocessors) {
  plan.cut = ScanCut::kPieces;
  plan.parts_per_piece = parts_per_piece;
  plan.part_chunks = CeilDiv(plan.nchunks, pieces_per_task * parts_per_piece);
  plan.pieces_per_task = CeilDiv(plan.nchunks, parts_per_piece * plan.part_chunks);
  plan.num_workers = plan.num_tasks * plan.pieces_per_task;
  // A multiple of the tasks, so that those of a group work on the same part at a time.
  plan.num_state_workers = std::min(plan.num_parts() * plan.num_tasks,
                                    num_multiprocessors / plan.num_tasks * plan.num_tasks);
  return plan;
}

}  // namespace

ScanPlan PlanScan(int32_t num_tasks, int32_t nchunks, int32_t num_multiprocessors) {
  ScanPlan whole;
  whole.num_tasks = num_tasks;
  whole.nchunks = nchunks;
  whole.num_workers = std::min(num_tasks, num_multiprocessors);

  if (num_tasks > num_multiprocessors) {
    // Halves take half a wave where whole tasks take one, as long as there are workers for both.
    // More left over would have to be cut at more places than one, and such pieces no longer move
    // in step with those that share their B and C; that costs more than the idle workers.
    const int32_t num_left_over = num_tasks % num_multiprocessors;
    if (num_left_over > 0 && 2 * num_left_over <= num_multiprocessors && nchunks >= 2) {
      whole.cut = ScanCut::kHalves;
    }
    return whole;
  }

  ScanPlan best = whole;
  const int32_t most_pieces = std::min(num_multiprocessors / num_tasks, nchunks);
  for (int32_t pieces = 2; pieces <= most_pieces; ++pieces) {
    for (int32_t parts = 1; parts <= kMostPartsPerPiece; ++parts) {
      const ScanPlan cut = CutInPieces(whole, pieces, parts, num_multiprocessors);
      if (cut.pieces_per_task >= 2 && CostOf(cut) < CostOf(best)) best = cut;
    }
  }
  return best;
}

}  // namespace tilescan::hopper
