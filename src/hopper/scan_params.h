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

// For tiles of each operand: (headdim or dstate, seqlen, nheads or ngroups, batch), the first along
// a tile's rows; CB is (64, rows of all chunks).
struct ScanTensorMaps {
  CUtensorMap x, B, C, CB, z, out;
};

struct ScanParams {
  ScanTensorMaps maps;
  ScanPlan plan;
  int32_t seqlen;
  int32_t nheads;
  int32_t ngroups;
  // (batch, seqlen, nheads); (nheads); (nheads); (nheads) or (nheads, headdim)
  TensorView dt, A, dt_bias, D;
  numerics::DtOptions dt_options;
  // (batch, nheads, headdim, dstate)
  TensorView initial_states, final_states;
  // Slots: (slot, kBlockHeads, headdim, dstate), and for each slot and head of the block the decay
  // over its part, and whether the state is there.
  float* slot_states;
  float* slot_decays;
  uint32_t* slot_flags;
};

// The heads of a task.
struct BlockHeads {
  int32_t batch_idx;
  int32_t group_idx;
  int32_t first_head;
  int32_t num_heads;  // kBlockHeads, or 1 where a group's number is odd and this is its last

  // The head of a warpgroup. Where there is none, the group's last: computed again, not stored.
  __device__ int32_t Head(int idx) const {
    return first_head + (idx < num_heads ? idx : num_heads - 1);
  }
};

__device__ inline BlockHeads HeadsOfTask(const ScanParams& params, int32_t task_idx) {
  const int32_t group_heads = params.nheads / params.ngroups;
  const int32_t group_blocks = (group_heads + kBlockHeads - 1) / kBlockHeads;
  const int32_t group = task_idx / group_blocks;
  const int32_t first = task_idx % group_blocks * kBlockHeads;
  BlockHeads heads;
  heads.batch_idx = group / params.ngroups;
  heads.group_idx = group % params.ngroups;
  heads.first_head = heads.group_idx * group_heads + first;
  heads.num_heads = min(group_heads - first, kBlockHeads);
  return heads;
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
