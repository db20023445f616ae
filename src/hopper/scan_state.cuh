// The state of a row block in the registers of its warpgroup, and how it comes there and goes.
#ifndef TILESCAN_HOPPER_SCAN_STATE_CUH_
#define TILESCAN_HOPPER_SCAN_STATE_CUH_

#include <cstdint>

#include "hopper/ptx/synchronization.h"
#include "hopper/scan_params.h"
#include "hopper/scan_storage.h"
#include "numerics/bfloat16.h"
#include "numerics/float16.h"

namespace tilescan::hopper {

// A thread of a row block's warpgroup.
struct RowThread {
  int block_idx;  // of the thread block's row blocks
  int part_idx;   // of dstate
  int thread;     // of the warpgroup
  int warp;       // likewise
  int lane;

  // Its first place in products: row of the row block, column of whatever is across.
  __device__ __forceinline__ int Row() const { return warp * kWarpRows + lane / 4; }
  __device__ __forceinline__ int Column() const { return lane % 4 * 2; }
  __device__ __forceinline__ int Warpgroup() const { return block_idx + part_idx; }
};

// The thread's first column of dstate.
template <typename Config>
__device__ __forceinline__ int StateColumn(const RowThread& at) {
  return at.part_idx * Config::kPartDstate + at.Column();
}

// What the rows of a warp are, in a task.
struct WarpRows {
  int32_t head;
  int32_t row_head;  // the same, counted from the row block's first
  int32_t channel;   // of the first row
  bool exist;        // else they are computed along, not stored
};

__device__ __forceinline__ WarpRows RowsOfWarp(const ScanParams& params, const RowThread& at,
                                               const TaskRows& rows) {
  const int32_t first_row = rows.Block(at.block_idx) * kBlockRows;
  const int32_t row = first_row + at.warp * kWarpRows;
  const int32_t head = row / params.headdim;
  return {HeadOfGroup(params, rows, head), head - first_row / params.headdim, row % params.headdim,
          at.block_idx < rows.num_blocks && head < params.group_heads};
}

// Calls visit(idx, row, column) for each two neighbours in a thread's part of the state, state[idx]
// and state[idx + 1]; row and column are counted from the thread's first place.
template <typename Config, typename Visit>
__device__ __forceinline__ void ForEachPair(const Visit& visit) {
#pragma unroll
  for (int idx = 0; idx < Config::kStateFloats; idx += 2) visit(idx, idx / 2 % 2 * 8, idx / 4 * 8);
}

template <typename Config>
__device__ __forceinline__ void Scale(float (&state)[Config::kStateFloats], float factor) {
#pragma unroll
  for (int idx = 0; idx < Config::kStateFloats; ++idx) state[idx] *= factor;
}

// ---- slots: states that pass from one piece to another, dense, in fp32 ----

template <typename Config>
__device__ __forceinline__ float* SlotState(const ScanParams& params, const RowThread& at,
                                            int32_t slot) {
  const int64_t block = int64_t{slot} * Config::kRowBlocks + at.block_idx;
  return params.slot_states + (block * kBlockRows + at.Row()) * Config::kDstate +
         StateColumn<Config>(at);
}

template <typename Config>
__device__ __forceinline__ void LoadSlot(const ScanParams& params, const RowThread& at,
                                         int32_t slot, bool has_flag,
                                         float (&state)[Config::kStateFloats]) {
  if (has_flag) {
    // The block that sets it runs at the same time and never waits before it does.
    const uint32_t* flag = params.slot_flags + slot * kRowWarpgroups + at.Warpgroup();
    while (ptx::LoadAcquire(flag) == 0) __nanosleep(64);
  }
  const float* from = SlotState<Config>(params, at, slot);
  ForEachPair<Config>([&](int idx, int row, int column) {
    const float2 pair =
        __ldcg(reinterpret_cast<const float2*>(from + row * Config::kDstate + column));
    state[idx] = pair.x;
    state[idx + 1] = pair.y;
  });
}

template <typename Config>
__device__ __forceinline__ void StoreSlot(const ScanParams& params, const RowThread& at,
                                          int32_t slot,
                                          const float (&state)[Config::kStateFloats]) {
  float* to = SlotState<Config>(params, at, slot);
  ForEachPair<Config>([&](int idx, int row, int column) {
    __stcg(reinterpret_cast<float2*>(to + row * Config::kDstate + column),
           make_float2(state[idx], state[idx + 1]));
  });
}

// ---- initial_states and final_states ----

// Whether neighbours of dstate can be moved as one.
__device__ __forceinline__ bool HasPairs(const TensorView& states) {
  const int64_t strides = states.strides[0] | states.strides[1] | states.strides[2];
  return states.dtype == DType::kFloat32 && states.strides[3] == 1 && strides % 2 == 0 &&
         reinterpret_cast<uintptr_t>(states.data) % sizeof(float2) == 0;
}

// The offset of a thread's first place.
template <typename Config>
__device__ __forceinline__ int64_t StateOffset(const TensorView& states, const RowThread& at,
                                               int32_t batch_idx, const WarpRows& rows) {
  return batch_idx * states.strides[0] + rows.head * states.strides[1] +
         (rows.channel + at.lane / 4) * states.strides[2] +
         StateColumn<Config>(at) * states.strides[3];
}

__device__ __forceinline__ float FloatOf(float value) { return value; }
__device__ __forceinline__ float FloatOf(numerics::BFloat16 value) {
  return numerics::ToFloat(value);
}
__device__ __forceinline__ float FloatOf(numerics::Float16 value) {
  return numerics::ToFloat(value);
}
__device__ __forceinline__ void Round(float value, float& to) { to = value; }
__device__ __forceinline__ void Round(float value, numerics::BFloat16& to) {
  to = numerics::ToBFloat16(value);
}
__device__ __forceinline__ void Round(float value, numerics::Float16& to) {
  to = numerics::ToFloat16(value);
}

template <typename Config, typename T>
__device__ __forceinline__ void LoadElements(const TensorView& states, int64_t offset,
                                             float (&state)[Config::kStateFloats]) {
  const T* from = states.At<const T>(offset);
  ForEachPair<Config>([&](int idx, int row, int column) {
    const T* pair = from + row * states.strides[2] + column * states.strides[3];
    state[idx] = FloatOf(pair[0]);
    state[idx + 1] = FloatOf(pair[states.strides[3]]);
  });
}

template <typename Config, typename T>
__device__ __forceinline__ void StoreElements(const TensorView& states, int64_t offset,
                                              const float (&state)[Config::kStateFloats]) {
  T* to = states.At<T>(offset);
  ForEachPair<Config>([&](int idx, int row, int column) {
    T* pair = to + row * states.strides[2] + column * states.strides[3];
    Round(state[idx], pair[0]);
    Round(state[idx + 1], pair[states.strides[3]]);
  });
}

template <typename Config>
__device__ __forceinline__ void LoadInitial(const TensorView& states, int64_t offset,
                                            float (&state)[Config::kStateFloats]) {
  if (!states.present()) {
    ForEachPair<Config>([&](int idx, int, int) { state[idx] = state[idx + 1] = 0.0f; });
  } else if (HasPairs(states)) {
    ForEachPair<Config>([&](int idx, int row, int column) {
      const float2 pair = *reinterpret_cast<const float2*>(
          states.At<const float>(offset + row * states.strides[2] + column));
      state[idx] = pair.x;
      state[idx + 1] = pair.y;
    });
  } else if (states.dtype == DType::kFloat32) {
    LoadElements<Config, float>(states, offset, state);
  } else if (states.dtype == DType::kBFloat16) {
    LoadElements<Config, numerics::BFloat16>(states, offset, state);
  } else {
    LoadElements<Config, numerics::Float16>(states, offset, state);
  }
}

template <typename Config>
__device__ __forceinline__ void StoreFinal(const TensorView& states, int64_t offset,
                                           const float (&state)[Config::kStateFloats]) {
  if (HasPairs(states)) {
    ForEachPair<Config>([&](int idx, int row, int column) {
      *reinterpret_cast<float2*>(states.At<float>(offset + row * states.strides[2] + column)) =
          make_float2(state[idx], state[idx + 1]);
    });
  } else if (states.dtype == DType::kFloat32) {
    StoreElements<Config, float>(states, offset, state);
  } else if (states.dtype == DType::kBFloat16) {
    StoreElements<Config, numerics::BFloat16>(states, offset, state);
  } else {
    StoreElements<Config, numerics::Float16>(states, offset, state);
  }
}

// ---- a piece's ----

template <typename Config>
__device__ __forceinline__ void LoadStateBefore(const ScanParams& params, const RowThread& at,
                                                const Piece& piece, int32_t batch_idx,
                                                const WarpRows& rows,
                                                float (&state)[Config::kStateFloats]) {
  if (piece.state_in != Piece::kNowhere) {
    LoadSlot<Config>(params, at, piece.state_in, piece.has_flags, state);
    return;
  }
  if (!piece.starts_task) {
    ForEachPair<Config>([&](int idx, int, int) { state[idx] = state[idx + 1] = 0.0f; });
    return;
  }
  const bool has_copy = piece.initial_copy != Piece::kNowhere && params.initial_states.present();
  if (has_copy && Config::kMakesOut) {
    LoadSlot<Config>(params, at, piece.initial_copy, false, state);
    return;
  }
  const int64_t offset = StateOffset<Config>(params.initial_states, at, batch_idx, rows);
  LoadInitial<Config>(params.initial_states, offset, state);
  if (has_copy) StoreSlot<Config>(params, at, piece.initial_copy, state);
}

template <typename Config>
__device__ __forceinline__ void StoreStateAfter(const ScanParams& params, const RowThread& at,
                                                const Piece& piece, const TaskRows& rows,
                                                const float (&state)[Config::kStateFloats]) {
  if (piece.state_out != Piece::kNowhere) {
    StoreSlot<Config>(params, at, piece.state_out, state);
    if (!piece.has_flags) return;
    // All threads' parts are there; the release by one of them covers what it has seen of the rest.
    ptx::SyncNamedBarrier(1 + at.Warpgroup(), kWarpgroupThreads);
    if (at.thread == 0) {
      ptx::StoreRelease(params.slot_flags + piece.state_out * kRowWarpgroups + at.Warpgroup(), 1);
    }
    return;
  }
  if (!piece.ends_task || !params.final_states.present()) return;
  const WarpRows warp_rows = RowsOfWarp(params, at, rows);
  if (!warp_rows.exist) return;
  const int64_t offset = StateOffset<Config>(params.final_states, at, rows.batch_idx, warp_rows);
  StoreFinal<Config>(params.final_states, offset, state);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_STATE_CUH_
