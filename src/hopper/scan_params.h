// What the kernels of the streaming scan get from the host.
#ifndef TILESCAN_HOPPER_SCAN_PARAMS_H_
#define TILESCAN_HOPPER_SCAN_PARAMS_H_

#include <cuda.h>

#include <cstdint>

#include "core/tensor_view.h"
#include "hopper/scan_config.h"
#include "hopper/scan_pieces.h"
#include "numerics/processed_dt.h"

namespace tilescan::hopper {

// For tiles of each operand, the first dimension along a tile's rows. x z out: (64, seqlen, row
// blocks, batch) where a row block lies in one head, and the heads of a task's row blocks come in
// one copy; else (rows of a group, seqlen, ngroups, batch), so that copies end where the group
// does. B C: (dstate, seqlen, ngroups, batch). CB: (64, rows of all chunks).
struct ScanTensorMaps {
  CUtensorMap x, B, C, CB, z, out;
};

struct ScanParams {
  ScanTensorMaps maps;
  ScanPlan plan;
  int32_t seqlen;
  int32_t ngroups;
  int32_t group_heads;
  int32_t headdim;
  // (batch, seqlen, nheads); (nheads); (nheads); (nheads) or (nheads, headdim)
  TensorView dt, A, dt_bias, D;
  numerics::DtOptions dt_options;
  // (batch, nheads, headdim, dstate)
  TensorView initial_states, final_states;
  // Slots: states (slot, kRowBlocks, kBlockRows, dstate); the root of each head's decay over its
  // part (slot, kRowBlocks, kRowHeads); whether the states are there (slot, kRowWarpgroups).
  float* slot_states;
  float* slot_roots;
  uint32_t* slot_flags;
};

// The rows of a task.
struct TaskRows {
  int32_t batch_idx;
  int32_t group_idx;
  int32_t first_block;  // of the group's
  int32_t num_blocks;   // kRowBlocks, or fewer in a group's last task

  // The row block of a warpgroup. Where there is none, the task's last: computed again, not stored.
  __device__ int32_t Block(int idx) const {
    return first_block + (idx < num_blocks ? idx : num_blocks - 1);
  }
};

TILESCAN_HOST_DEVICE inline int64_t NumRowBlocks(int64_t group_heads, int64_t headdim) {
  return (group_heads * headdim + kBlockRows - 1) / kBlockRows;
}

__device__ inline int32_t GroupBlocks(const ScanParams& params) {
  return static_cast<int32_t>(NumRowBlocks(params.group_heads, params.headdim));
}

template <typename Config>
__device__ inline TaskRows RowsOfTask(const ScanParams& params, int32_t task_idx) {
  const int32_t num_blocks = GroupBlocks(params);
  const int32_t group_tasks = (num_blocks + Config::kRowBlocks - 1) / Config::kRowBlocks;
  const int32_t group = task_idx / group_tasks;
  TaskRows rows;
  rows.batch_idx = group / params.ngroups;
  rows.group_idx = group % params.ngroups;
  rows.first_block = task_idx % group_tasks * Config::kRowBlocks;
  rows.num_blocks = min(num_blocks - rows.first_block, Config::kRowBlocks);
  return rows;
}

// A head of a task's group; for one behind the group's last, that.
__device__ inline int32_t HeadOfGroup(const ScanParams& params, const TaskRows& rows, int32_t idx) {
  return rows.group_idx * params.group_heads + min(idx, params.group_heads - 1);
}

__device__ __forceinline__ int32_t WorkerIdx() { return static_cast<int32_t>(blockIdx.x); }

// visit(piece) for each piece of this block, in order.
template <typename Config, typename Visit>
__device__ __forceinline__ void ForEachPiece(const ScanParams& params, const Visit& visit) {
  const int32_t num_pieces = NumPieces(params.plan, Config::kPass, WorkerIdx());
#pragma unroll 1
  for (int32_t piece_idx = 0; piece_idx < num_pieces; ++piece_idx) {
    visit(GetPiece(params.plan, Config::kPass, WorkerIdx(), piece_idx));
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_PARAMS_H_
