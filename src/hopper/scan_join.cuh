// Joins the states that the pass for them has made of parts of tasks, each over its own part, to
// the states before the pieces:
//
//   state after a part = decay over the part * state before it + state of the part
//
// In place: what is behind a piece's last part goes to that part's slot. A thread takes 4
// neighbours of dstate through all parts of a task. Bound by latency: some MB, in L2.
#ifndef TILESCAN_HOPPER_SCAN_JOIN_CUH_
#define TILESCAN_HOPPER_SCAN_JOIN_CUH_

#include <cstdint>

#include "cuda/join_parts.cuh"
#include "hopper/scan_params.h"

namespace tilescan::hopper {

inline constexpr int kJoinThreads = 256;

// The head of a row, counted from its row block's first.
template <typename Config>
__device__ __forceinline__ int32_t RowHead(const ScanParams& params, int32_t task_idx,
                                           int32_t block_idx, int32_t row) {
  if constexpr (Config::kRowHeads == 1) return 0;
  const int32_t first_row = RowsOfTask<Config>(params, task_idx).Block(block_idx) * kBlockRows;
  return (first_row + row) / params.headdim - first_row / params.headdim;
}

// Threads: (tasks, row blocks, rows, dstate / 4), flattened.
template <typename Config>
__global__ void __launch_bounds__(kJoinThreads)
    JoinKernel(const __grid_constant__ ScanParams params) {
  constexpr int kRowFours = Config::kDstate / 4;
  constexpr int kBlockFours = kBlockRows * kRowFours;
  constexpr int kSlotFours = Config::kRowBlocks * kBlockFours;
  static_assert(kSlotFours % kJoinThreads == 0);
  const auto thread = static_cast<int32_t>(blockIdx.x * kJoinThreads + threadIdx.x);
  const int32_t task_idx = thread / kSlotFours;
  const int32_t four = thread % kSlotFours;
  const int32_t block_idx = four / kBlockFours;
  const int32_t row_head =
      RowHead<Config>(params, task_idx, block_idx, four % kBlockFours / kRowFours);
  const int32_t num_parts = params.plan.num_parts();
  const int64_t first_slot = SlotOfPart(params.plan, task_idx, 0);
  auto* states = reinterpret_cast<float4*>(params.slot_states) + first_slot * kSlotFours + four;
  constexpr int kSlotHeads = Config::kRowBlocks * Config::kRowHeads;
  const float* roots =
      params.slot_roots + first_slot * kSlotHeads + block_idx * Config::kRowHeads + row_head;

  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  cuda::JoinParts(
      states, kSlotFours, num_parts, {},
      [&](int32_t part_idx) { return __ldcg(roots + part_idx * kSlotHeads); },
      [&](int32_t part_idx, const float4& state) {
        if ((part_idx + 1) % params.plan.parts_per_piece != 0) return;
        __stcg(states + int64_t{part_idx} * kSlotFours, state);
      });
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_JOIN_CUH_
