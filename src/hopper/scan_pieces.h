// How the scan's work is shared out: which blocks take which chunks of which tasks, in what order,
// and where states pass from one to another. Follows from sizes and the number of multiprocessors
// alone, so a problem is cut the same way each time; kernels compute their pieces from a ScanPlan.
//
// A task is all chunks of the rows that a block takes at once. A piece is a run of chunks of a
// task. Three cuts:
//   kWhole   whole tasks, in waves.
//   kHalves  as many whole waves as there are; each task that is left over is split in two halves.
//            Some workers take a first half before their whole tasks, others a second half after
//            theirs, so that the state in between is ready long before it is asked for.
//   kPieces  few tasks: each is cut in pieces that run at once. A pass before computes states only,
//            of parts of all pieces but the last; these are joined to the states before the pieces.
// Tasks that share B and C go side by side wherever possible, so that these come from the cache.
#ifndef TILESCAN_HOPPER_SCAN_PIECES_H_
#define TILESCAN_HOPPER_SCAN_PIECES_H_

#include <cstdint>

#include "core/host_device.h"

namespace tilescan::hopper {

enum class ScanCut : int32_t { kWhole, kHalves, kPieces };

// The pass that makes out, and the one before it that computes states only.
enum class ScanPass : int32_t { kOut, kStates };

struct ScanPlan {
  ScanCut cut = ScanCut::kWhole;
  int32_t num_tasks = 0;
  int32_t nchunks = 0;            // of a task
  int32_t num_workers = 0;        // blocks of the pass that makes out
  int32_t num_state_workers = 0;  // blocks of the pass for states; 0: there is none
  // kPieces only.
  int32_t pieces_per_task = 1;
  int32_t parts_per_piece = 1;
  int32_t part_chunks = 0;

  TILESCAN_HOST_DEVICE int32_t num_left_over() const { return num_tasks % num_workers; }
  TILESCAN_HOST_DEVICE int32_t num_parts() const {
    return (pieces_per_task - 1) * parts_per_piece;  // of a task
  }
  // Slots for states of a task's rows that pass from one piece to another.
  TILESCAN_HOST_DEVICE int32_t num_slots() const {
    switch (cut) {
      case ScanCut::kHalves:
        return num_left_over();
      case ScanCut::kPieces:
        // That of each part, the last of a piece's for what is joined; then for each task the
        // initial state: final_states may lie over initial_states, and the piece that writes it
        // does not wait for the one that begins.
        return num_tasks * (num_parts() + 1);
      default:
        return 0;
    }
  }
};

struct Piece {
  static constexpr int32_t kNowhere = -1;

  int32_t task_idx = 0;
  int32_t first_chunk = 0;
  int32_t end_chunk = 0;
  // The slot of the state before it; without one that is the task's initial state, or zero for a
  // part that does not begin its task.
  int32_t state_in = kNowhere;
  bool starts_task = true;
  // A slot that holds a copy of the initial state, or is to receive it in the pass for states.
  int32_t initial_copy = kNowhere;
  // The slot for the state after it.
  int32_t state_out = kNowhere;
  bool ends_task = true;
  // The slots going in or out are passed on within the pass, so each has a flag.
  bool has_flags = false;
};

// num_tasks >= 1, nchunks >= 1, num_multiprocessors >= 1.
ScanPlan PlanScan(int32_t num_tasks, int32_t nchunks, int32_t num_multiprocessors);

// ---- the pieces of a worker; worker_idx in [0, num_workers) or [0, num_state_workers) ----

TILESCAN_HOST_DEVICE inline int32_t NumPieces(const ScanPlan& plan, ScanPass pass,
                                              int32_t worker_idx) {
  if (pass == ScanPass::kStates) {
    const int32_t num_parts = plan.num_parts() * plan.num_tasks;
    return (num_parts - worker_idx + plan.num_state_workers - 1) / plan.num_state_workers;
  }
  switch (plan.cut) {
    case ScanCut::kWhole:
      return (plan.num_tasks - worker_idx + plan.num_workers - 1) / plan.num_workers;
    case ScanCut::kHalves:
      return plan.num_tasks / plan.num_workers + (worker_idx < 2 * plan.num_left_over() ? 1 : 0);
    default:
      return 1;
  }
}

TILESCAN_HOST_DEVICE inline Piece WholeTask(const ScanPlan& plan, int32_t task_idx) {
  Piece piece;
  piece.task_idx = task_idx;
  piece.end_chunk = plan.nchunks;
  return piece;
}

TILESCAN_HOST_DEVICE inline Piece PieceOfHalves(const ScanPlan& plan, int32_t worker_idx,
                                                int32_t piece_idx) {
  const int32_t num_left_over = plan.num_left_over();
  const int32_t num_waves = plan.num_tasks / plan.num_workers;
  const int32_t first_left_over = num_waves * plan.num_workers;
  const int32_t num_others = plan.num_workers - num_left_over;
  if (worker_idx < num_left_over) {
    if (piece_idx > 0) {
      return WholeTask(plan, num_waves * num_others + (piece_idx - 1) * num_left_over + worker_idx);
    }
    Piece piece = WholeTask(plan, first_left_over + worker_idx);
    piece.end_chunk = plan.nchunks / 2;
    piece.state_out = worker_idx;
    piece.ends_task = false;
    piece.has_flags = true;
    return piece;
  }
  const int32_t idx = worker_idx - num_left_over;
  if (piece_idx < num_waves) return WholeTask(plan, piece_idx * num_others + idx);
  Piece piece = WholeTask(plan, first_left_over + idx);
  piece.first_chunk = plan.nchunks / 2;
  piece.state_in = idx;
  piece.starts_task = false;
  piece.has_flags = true;
  return piece;
}

TILESCAN_HOST_DEVICE inline int32_t SlotOfPart(const ScanPlan& plan, int32_t task_idx,
                                               int32_t part_idx) {
  return task_idx * plan.num_parts() + part_idx;
}

TILESCAN_HOST_DEVICE inline int32_t SlotOfInitial(const ScanPlan& plan, int32_t task_idx) {
  return plan.num_tasks * plan.num_parts() + task_idx;
}

TILESCAN_HOST_DEVICE inline Piece PieceOfTask(const ScanPlan& plan, int32_t worker_idx) {
  const int32_t idx = worker_idx / plan.num_tasks;
  const int32_t piece_chunks = plan.parts_per_piece * plan.part_chunks;
  Piece piece = WholeTask(plan, worker_idx % plan.num_tasks);
  piece.first_chunk = idx * piece_chunks;
  piece.ends_task = idx == plan.pieces_per_task - 1;
  if (!piece.ends_task) piece.end_chunk = piece.first_chunk + piece_chunks;
  piece.starts_task = idx == 0;
  if (piece.starts_task) {
    piece.initial_copy = SlotOfInitial(plan, piece.task_idx);
  } else {
    piece.state_in = SlotOfPart(plan, piece.task_idx, idx * plan.parts_per_piece - 1);
  }
  return piece;
}

TILESCAN_HOST_DEVICE inline Piece PartOfTask(const ScanPlan& plan, int32_t worker_idx,
                                             int32_t piece_idx) {
  const int32_t idx = worker_idx + piece_idx * plan.num_state_workers;
  const int32_t part_idx = idx / plan.num_tasks;
  Piece piece = WholeTask(plan, idx % plan.num_tasks);
  piece.first_chunk = part_idx * plan.part_chunks;
  piece.end_chunk = piece.first_chunk + plan.part_chunks;
  piece.starts_task = part_idx == 0;
  if (piece.starts_task) piece.initial_copy = SlotOfInitial(plan, piece.task_idx);
  piece.state_out = SlotOfPart(plan, piece.task_idx, part_idx);
  piece.ends_task = false;
  return piece;
}

// piece_idx in [0, NumPieces()), the order in which the worker takes them.
TILESCAN_HOST_DEVICE inline Piece GetPiece(const ScanPlan& plan, ScanPass pass, int32_t worker_idx,
                                           int32_t piece_idx) {
  if (pass == ScanPass::kStates) return PartOfTask(plan, worker_idx, piece_idx);
  switch (plan.cut) {
    case ScanCut::kWhole:
      return WholeTask(plan, worker_idx + piece_idx * plan.num_workers);
    case ScanCut::kHalves:
      return PieceOfHalves(plan, worker_idx, piece_idx);
    default:
      return PieceOfTask(plan, worker_idx);
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_PIECES_H_
