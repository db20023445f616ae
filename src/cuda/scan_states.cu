#include "cuda/scan_states.h"

#include <cstdint>

#include "cuda/launch.cuh"
#include "numerics/elements.h"

namespace tilescan::cuda {
namespace {

constexpr int kThreads = 256;

__device__ void CopyElement(const TensorView& from, int64_t from_offset, const TensorView& to,
                            int64_t to_offset) {
  if (from.dtype != to.dtype) {
    numerics::StoreFloat(numerics::LoadFloat(from, from_offset), to, to_offset);
  } else if (ElementBytes(to.dtype) == sizeof(uint32_t)) {
    *to.At<uint32_t>(to_offset) = *from.At<const uint32_t>(from_offset);
  } else {
    *to.At<uint16_t>(to_offset) = *from.At<const uint16_t>(from_offset);
  }
}

// The elements of a state, shared among a block's threads: visit(channel, n, place of the element
// in a compact state).
template <typename Visit>
__device__ void VisitState(int64_t headdim, int64_t dstate, const Visit& visit) {
  for (int64_t idx = threadIdx.x; idx < headdim * dstate; idx += kThreads) {
    visit(idx / dstate, idx % dstate, idx);
  }
}

LaunchShape ShapeOf(int64_t num_blocks, cudaStream_t stream) {
  return {
      .grid = dim3(static_cast<unsigned>(num_blocks)), .num_threads = kThreads, .stream = stream};
}

// ---- whole operands ----

// Where the state begins that is the block's, of those of an operand in order.
__device__ int64_t StateOffset(const TensorView& view) {
  int64_t offset = 0;
  int64_t idx = blockIdx.x;
  for (int dim = view.ndim - 3; dim >= 0; --dim) {
    offset += idx % view.shape[dim] * view.strides[dim];
    idx /= view.shape[dim];
  }
  return offset;
}

// A block a state.
template <bool kIsPacking>
__global__ void __launch_bounds__(kThreads) CopyStates(const TensorView view, float* compact) {
  const int channel_dim = view.ndim - 2;
  const int64_t headdim = view.shape[channel_dim];
  const int64_t dstate = view.shape[channel_dim + 1];
  const int64_t channel_stride = view.strides[channel_dim];
  const int64_t state_stride = view.strides[channel_dim + 1];
  const int64_t offset = StateOffset(view);
  compact += blockIdx.x * headdim * dstate;
  VisitState(headdim, dstate, [&](int64_t channel, int64_t n, int64_t idx) {
    const int64_t element = offset + channel * channel_stride + n * state_stride;
    if constexpr (kIsPacking) {
      compact[idx] = numerics::LoadFloat(view, element);
    } else {
      numerics::StoreFloat(compact[idx], view, element);
    }
  });
}

template <bool kIsPacking>
Status LaunchCopyStates(const TensorView& view, float* compact, cudaStream_t stream) {
  if (view.num_elements() == 0) return Status();
  int64_t num_blocks = 1;
  for (int dim = 0; dim < view.ndim - 2; ++dim) num_blocks *= view.shape[dim];
  return LaunchKernel("CopyStates", CopyStates<kIsPacking>, ShapeOf(num_blocks, stream), view,
                      compact);
}

// ---- states of slots ----

// Where a state begins in a compact array of states.
__device__ int64_t CompactOffset(const ScanSizes& sizes, int64_t idx, int64_t head_idx) {
  return (idx * sizes.nheads + head_idx) * sizes.headdim * sizes.dstate;
}

// All of these: a block a head of a row, or of a slot.
struct BlockPlace {
  int64_t idx, head_idx;
};
__device__ BlockPlace FindPlace(const ScanSizes& sizes) {
  return {blockIdx.x / sizes.nheads, blockIdx.x % sizes.nheads};
}

__global__ void __launch_bounds__(kThreads)
    LoadInitial(const ScanForwardProblem problem, const ChunkTable table, float* of_slots) {
  const TensorView& from = problem.operands.initial_states;
  const BlockPlace row = FindPlace(problem.sizes);
  if (table.num_chunks[row.idx] == 0) return;
  float* to = of_slots + CompactOffset(problem.sizes, table.first_slot[row.idx], row.head_idx);
  const int64_t offset = row.idx * from.strides[0] + row.head_idx * from.strides[1];
  VisitState(
      problem.sizes.headdim, problem.sizes.dstate, [&](int64_t channel, int64_t n, int64_t idx) {
        to[idx] =
            numerics::LoadFloat(from, offset + channel * from.strides[2] + n * from.strides[3]);
      });
}

// num_chunks null: no row has a token.
__global__ void __launch_bounds__(kThreads)
    StoreFinal(const ScanForwardProblem problem, const int64_t* num_chunks, const float* of_rows) {
  const TensorView& initial = problem.operands.initial_states;
  const TensorView& to = problem.operands.final_states;
  const BlockPlace row = FindPlace(problem.sizes);
  const bool is_empty = num_chunks == nullptr || num_chunks[row.idx] == 0;
  const int64_t to_offset = row.idx * to.strides[0] + row.head_idx * to.strides[1];
  const int64_t from_offset = row.idx * initial.strides[0] + row.head_idx * initial.strides[1];
  VisitState(
      problem.sizes.headdim, problem.sizes.dstate, [&](int64_t channel, int64_t n, int64_t idx) {
        const int64_t to_element = to_offset + channel * to.strides[2] + n * to.strides[3];
        if (!is_empty) {
          numerics::StoreFloat(of_rows[CompactOffset(problem.sizes, row.idx, row.head_idx) + idx],
                               to, to_element);
        } else if (initial.present()) {
          CopyElement(initial, from_offset + channel * initial.strides[2] + n * initial.strides[3],
                      to, to_element);
        } else {
          numerics::StoreFloat(0.0f, to, to_element);
        }
      });
}

// The state after a slot is the one before the next slot of its row; that after the last, the
// row's.
__global__ void __launch_bounds__(kThreads)
    StoreStatesOut(const ScanForwardProblem problem, const ChunkTable table,
                   const SlotStates states) {
  const TensorView& to = problem.operands.states_out;
  const BlockPlace slot = FindPlace(problem.sizes);
  const int64_t state_out_idx = table.state_out_idx[slot.idx];
  if (state_out_idx < 0) return;
  const int64_t row_idx = table.row_idx[slot.idx];
  const bool is_last = slot.idx + 1 == table.first_slot[row_idx] + table.num_chunks[row_idx];
  const float* from =
      is_last ? states.of_rows + CompactOffset(problem.sizes, row_idx, slot.head_idx)
              : states.of_slots + CompactOffset(problem.sizes, slot.idx + 1, slot.head_idx);
  const int64_t offset = table.batch_idx[slot.idx] * to.strides[0] + state_out_idx * to.strides[1] +
                         slot.head_idx * to.strides[2];
  VisitState(
      problem.sizes.headdim, problem.sizes.dstate, [&](int64_t channel, int64_t n, int64_t idx) {
        numerics::StoreFloat(from[idx], to, offset + channel * to.strides[3] + n * to.strides[4]);
      });
}

}  // namespace

Status PackStates(const TensorView& from, float* to, cudaStream_t stream) {
  return LaunchCopyStates<true>(from, to, stream);
}

Status UnpackStates(const float* from, const TensorView& to, cudaStream_t stream) {
  return LaunchCopyStates<false>(to, const_cast<float*>(from), stream);
}

Status LoadInitialStates(const ScanForwardProblem& problem, const ChunkTable& table,
                         const SlotStates& states, cudaStream_t stream) {
  const int64_t num_blocks = problem.sizes.num_seqs * problem.sizes.nheads;
  if (!problem.operands.initial_states.present() || num_blocks == 0) return Status();
  return LaunchKernel("LoadInitial", LoadInitial, ShapeOf(num_blocks, stream), problem, table,
                      states.of_slots);
}

Status StoreStates(const ScanForwardProblem& problem, int64_t num_slots, const ChunkTable& table,
                   const SlotStates& states, cudaStream_t stream) {
  const int64_t nheads = problem.sizes.nheads;
  const int64_t num_row_blocks = problem.sizes.num_seqs * nheads;
  if (problem.operands.final_states.present() && num_row_blocks > 0) {
    TILESCAN_RETURN_IF_ERROR(LaunchKernel("StoreFinal", StoreFinal, ShapeOf(num_row_blocks, stream),
                                          problem, table.num_chunks, states.of_rows));
  }
  if (problem.operands.states_out.present() && num_slots * nheads > 0) {
    return LaunchKernel("StoreStatesOut", StoreStatesOut, ShapeOf(num_slots * nheads, stream),
                        problem, table, states);
  }
  return Status();
}

Status PassEmptyRows(const ScanForwardProblem& problem, cudaStream_t stream) {
  const int64_t num_blocks = problem.sizes.num_seqs * problem.sizes.nheads;
  if (!problem.operands.final_states.present() || num_blocks == 0) return Status();
  return LaunchKernel("StoreFinal", StoreFinal, ShapeOf(num_blocks, stream), problem, nullptr,
                      nullptr);
}

Status LoadStateKernels() {
  TILESCAN_RETURN_IF_ERROR(LoadKernel("CopyStates", CopyStates<true>));
  TILESCAN_RETURN_IF_ERROR(LoadKernel("CopyStates", CopyStates<false>));
  TILESCAN_RETURN_IF_ERROR(LoadKernel("LoadInitial", LoadInitial));
  TILESCAN_RETURN_IF_ERROR(LoadKernel("StoreFinal", StoreFinal));
  return LoadKernel("StoreStatesOut", StoreStatesOut);
}

}  // namespace tilescan::cuda
