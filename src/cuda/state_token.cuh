// What a block of the decoding step works on, and what a token brings.
#ifndef TILESCAN_CUDA_STATE_TOKEN_CUH_
#define TILESCAN_CUDA_STATE_TOKEN_CUH_

#include <cstdint>

#include "core/sequences.h"
#include "core/state_update.h"
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

inline __device__ void LoadStep(const StateUpdateProblem& problem, const Place& place,
                                int64_t token, float* dt, float* dA) {
  const StateUpdateOperands& operands = problem.operands;
  const float bias =
      operands.dt_bias.present()
          ? numerics::LoadFloat(operands.dt_bias, place.head_idx * operands.dt_bias.strides[0])
          : 0.0f;
  const float raw = numerics::LoadFloat(operands.dt, place.batch_idx * operands.dt.strides[0] +
                                                         token * operands.dt.strides[1] +
                                                         place.head_idx * operands.dt.strides[2]);
  const float A = numerics::LoadFloat(operands.A, place.head_idx * operands.A.strides[0]);
  *dt = numerics::ProcessedDt(raw, bias,
                              {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max});
  // Nothing is left of zeros, even if the decay overflows.
  *dA = place.is_fresh && token == 0 ? 0.0f : expf(*dt * A);
}

template <typename Shape>
__device__ void LoadRow(const StateUpdateProblem& problem, const Place& place, int64_t token,
                        int row, TokenInputs<Shape>* inputs) {
  const StateUpdateOperands& operands = problem.operands;
  const float x = numerics::LoadFloat(operands.x, RowOffset(operands.x, place, token, row));
  float Dx = 0.0f;
  float silu_z = 1.0f;
  if (operands.D.present()) {
    const int64_t channel =
        operands.D.ndim == 2 ? (place.first_row + row) * operands.D.strides[1] : 0;
    Dx = x * numerics::LoadFloat(operands.D, place.head_idx * operands.D.strides[0] + channel);
  }
  if (operands.z.present()) {
    silu_z =
        numerics::Silu(numerics::LoadFloat(operands.z, RowOffset(operands.z, place, token, row)));
  }
  inputs->x[row] = x;
  inputs->Dx[row] = Dx;
  inputs->silu_z[row] = silu_z;
}

// The block's threads together: the step, what belongs to rows, and a segment of B and C from
// element first_n on, in which elements beyond dstate become 0.
template <typename Shape>
__device__ void LoadInputs(const StateUpdateProblem& problem, const Place& place, int64_t token,
                           int64_t first_n, TokenInputs<Shape>* inputs) {
  const StateUpdateOperands& operands = problem.operands;
  const int thread = static_cast<int>(threadIdx.x);
  // The last thread, which has least else to do.
  if (thread == kThreads - 1) LoadStep(problem, place, token, &inputs->dt, &inputs->dA);
  if (thread < place.num_rows) LoadRow(problem, place, token, thread, inputs);
  const int64_t B_offset = GroupOffset(operands.B, place, token);
  const int64_t C_offset = GroupOffset(operands.C, place, token);
  for (int at = thread; at < Shape::kSegment; at += kThreads) {
    const int64_t n = first_n + at;
    const bool exists = n < problem.sizes.dstate;
    inputs->B[at] =
        exists ? numerics::LoadFloat(operands.B, B_offset + n * operands.B.strides[3]) : 0.0f;
    inputs->C[at] =
        exists ? numerics::LoadFloat(operands.C, C_offset + n * operands.C.strides[3]) : 0.0f;
  }
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
