// What a block of the decoding step works on, and what a token brings.
#ifndef TILESCAN_CUDA_STATE_TOKEN_CUH_
#define TILESCAN_CUDA_STATE_TOKEN_CUH_

#include <cstdint>

#include "core/sequences.h"
#include "core/state_update.h"
#include "cuda/elements.cuh"
#include "cuda/state_layout.cuh"
#include "numerics/activations.h"
#include "numerics/elements.h"
#include "numerics/processed_dt.h"

namespace tilescan::cuda {

// Rows of one head of one row of the batch. The grid is (nheads, blocks of rows, rows of the batch
// from first_batch on).
struct Place {
  int64_t state_offset;  // of the block's first row
  int64_t num_accepted;  // tokens that the state keeps
  int64_t first_row;     // of headdim
  int batch_idx, head_idx, group_idx;
  int num_rows;  // of this block
  bool is_padding;
  bool is_fresh;  // the state counts as zeros
};

// Indices out of range are kept in bounds: a slot that does not exist counts as padding.
inline __device__ Place FindPlace(const StateUpdateProblem& problem, int first_batch,
                                  int block_rows) {
  const StateUpdateOperands& operands = problem.operands;
  Place place;
  place.first_row = static_cast<int64_t>(blockIdx.y) * block_rows;
  place.num_rows =
      static_cast<int>(min(problem.sizes.headdim - place.first_row, int64_t{block_rows}));
  place.batch_idx = first_batch + static_cast<int>(blockIdx.z);
  place.head_idx = static_cast<int>(blockIdx.x);
  const unsigned heads_per_group =
      static_cast<unsigned>(problem.sizes.nheads) / static_cast<unsigned>(problem.sizes.ngroups);
  place.group_idx = static_cast<int>(blockIdx.x / heads_per_group);
  const int64_t slot = operands.state_batch_indices.present()
                           ? IndexAt(operands.state_batch_indices, place.batch_idx)
                           : place.batch_idx;
  place.is_padding = slot < 0 || slot >= problem.sizes.num_slots;
  place.state_offset = slot * operands.state.strides[0] +
                       place.head_idx * operands.state.strides[1] +
                       place.first_row * operands.state.strides[2];
  place.is_fresh = operands.fresh.present() &&
                   *operands.fresh.At<const uint8_t>(place.batch_idx * operands.fresh.strides[0]);
  place.num_accepted = problem.sizes.num_tokens;
  if (operands.num_accepted.present()) {
    const int64_t asked = IndexAt(operands.num_accepted, place.batch_idx);
    place.num_accepted = max(int64_t{0}, min(asked, problem.sizes.num_tokens));
  }
  return place;
}

// Of a row of the block, in a token of x, z or out.
inline __device__ int64_t RowOffset(const TensorView& view, const Place& place, int64_t token,
                                    int row) {
  return place.batch_idx * view.strides[0] + token * view.strides[1] +
         place.head_idx * view.strides[2] + (place.first_row + row) * view.strides[3];
}

// Of the group's row of B or C, in a token.
inline __device__ int64_t GroupOffset(const TensorView& view, const Place& place, int64_t token) {
  return place.batch_idx * view.strides[0] + token * view.strides[1] +
         place.group_idx * view.strides[2];
}

// What a token brings, in shared memory.
template <typename Shape>
struct TokenInputs {
  alignas(16) float B[Shape::kSegment];
  alignas(16) float C[Shape::kSegment];
  float x[Shape::kBlockRows];
  float Dx[Shape::kBlockRows];      // D x; 0 without D
  float silu_z[Shape::kBlockRows];  // 1 without z
  float dt, dA;
};

// The step and its decay, as bits. Bits of operands that are not there are 0.
struct StepBits {
  uint32_t dt, bias, A;

  __device__ StepBits(const StateUpdateProblem& problem, const Place& place, int64_t token) {
    const StateUpdateOperands& operands = problem.operands;
    dt = LoadElementBits(operands.dt, place.batch_idx * operands.dt.strides[0] +
                                          token * operands.dt.strides[1] +
                                          place.head_idx * operands.dt.strides[2]);
    A = LoadElementBits(operands.A, place.head_idx * operands.A.strides[0]);
    bias = operands.dt_bias.present()
               ? LoadElementBits(operands.dt_bias, place.head_idx * operands.dt_bias.strides[0])
               : 0;
  }
  template <typename Shape>
  __device__ void Put(const StateUpdateOperands& operands, bool counts_as_zeros,
                      TokenInputs<Shape>* inputs) const {
    const float processed = numerics::ProcessedDt(
        ElementToFloat(operands.dt.dtype, dt), ElementToFloat(operands.dt_bias.dtype, bias),
        {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max});
    inputs->dt = processed;
    // Nothing is left of zeros, even if the decay overflows.
    inputs->dA = counts_as_zeros ? 0.0f : expf(processed * ElementToFloat(operands.A.dtype, A));
  }
};

// What belongs to a row of the part.
struct RowBits {
  uint32_t x, z, D;

  __device__ RowBits() = default;
  __device__ RowBits(const StateUpdateProblem& problem, const Place& place, int64_t token,
                     int row) {
    const StateUpdateOperands& operands = problem.operands;
    x = LoadElementBits(operands.x, RowOffset(operands.x, place, token, row));
    z = operands.z.present() ? LoadElementBits(operands.z, RowOffset(operands.z, place, token, row))
                             : 0;
    const int64_t channel =
        operands.D.ndim == 2 ? (place.first_row + row) * operands.D.strides[1] : 0;
    D = operands.D.present()
            ? LoadElementBits(operands.D, place.head_idx * operands.D.strides[0] + channel)
            : 0;
  }
  template <typename Shape>
  __device__ void Put(const StateUpdateOperands& operands, int row,
                      TokenInputs<Shape>* inputs) const {
    const float value = ElementToFloat(operands.x.dtype, x);
    inputs->x[row] = value;
    inputs->Dx[row] = operands.D.present() ? value * ElementToFloat(operands.D.dtype, D) : 0.0f;
    inputs->silu_z[row] =
        operands.z.present() ? numerics::Silu(ElementToFloat(operands.z.dtype, z)) : 1.0f;
  }
};

// The block's threads together: the step, what belongs to rows, and a segment of B and C from
// element first_n on, in which elements beyond dstate become 0. All reads are on their way before
// the first is looked at.
template <typename Shape>
__device__ void LoadInputs(const StateUpdateProblem& problem, const Place& place, int64_t token,
                           int64_t first_n, TokenInputs<Shape>* inputs) {
  constexpr int kElements = (Shape::kSegment + kThreads - 1) / kThreads;
  const int thread = static_cast<int>(threadIdx.x);
  const StateUpdateOperands& operands = problem.operands;
  const int64_t B_offset = GroupOffset(operands.B, place, token);
  const int64_t C_offset = GroupOffset(operands.C, place, token);
  uint32_t B[kElements], C[kElements];
#pragma unroll
  for (int idx = 0; idx < kElements; ++idx) {
    const int64_t n = first_n + idx * kThreads + thread;
    const bool exists = n < problem.sizes.dstate;
    B[idx] = exists ? LoadElementBits(operands.B, B_offset + n * operands.B.strides[3]) : 0;
    C[idx] = exists ? LoadElementBits(operands.C, C_offset + n * operands.C.strides[3]) : 0;
  }
  RowBits row = {};
  if (thread < place.num_rows) row = RowBits(problem, place, token, thread);
  const StepBits step(problem, place, token);
#pragma unroll
  for (int idx = 0; idx < kElements; ++idx) {
    const int at = idx * kThreads + thread;
    if (at >= Shape::kSegment) continue;
    inputs->B[at] = ElementToFloat(operands.B.dtype, B[idx]);
    inputs->C[at] = ElementToFloat(operands.C.dtype, C[idx]);
  }
  if (thread < place.num_rows) row.Put(operands, thread, inputs);
  // The last thread, which has least else to do.
  if (thread == kThreads - 1) step.Put(operands, place.is_fresh && token == 0, inputs);
}

// out of a row whose state . C is known.
template <typename Shape>
__device__ float OutOf(const TokenInputs<Shape>& inputs, int row, float sum) {
  return (sum + inputs.Dx[row]) * inputs.silu_z[row];
}

// out of the block's rows is 0 for all tokens.
inline __device__ void StoreZeros(const StateUpdateProblem& problem, const Place& place) {
  const TensorView& out = problem.operands.out;
  for (int64_t token = 0; token < problem.sizes.num_tokens; ++token) {
    for (int row = static_cast<int>(threadIdx.x); row < place.num_rows; row += kThreads) {
      numerics::StoreFloat(0.0f, out, RowOffset(out, place, token, row));
    }
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_TOKEN_CUH_
