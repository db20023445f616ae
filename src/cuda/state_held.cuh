// A lane's part of the state, in fp32 registers through all tokens.
#ifndef TILESCAN_CUDA_STATE_HELD_CUH_
#define TILESCAN_CUDA_STATE_HELD_CUH_

#include <cstdint>

#include "core/state_update.h"
#include "cuda/state_layout.cuh"
#include "cuda/state_token.cuh"

namespace tilescan::cuda {

// Takes a token into elements h of a row: h = dA h + dt_x B, and adds what they give to out.
template <int kSize>
__device__ void StepElements(float dA, float dt_x, const float (&B)[kSize], const float (&C)[kSize],
                             float (&h)[kSize], float& sum) {
#pragma unroll
  for (int at = 0; at < kSize; ++at) {
    h[at] = fmaf(dA, h[at], dt_x * B[at]);
    sum = fmaf(h[at], C[at], sum);
  }
}

// first_row: of the group, in the block.
template <typename Shape>
struct Held {
  using Piece = typename Shape::Piece;
  float value[Shape::kRows][Shape::kPasses][Shape::kSize];

  static __device__ int Lane() { return static_cast<int>(threadIdx.x) % Shape::kLanes; }
  // Of a group of rows of the block.
  static __device__ int RowInGroup(int idx) {
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const int aside = static_cast<int>(threadIdx.x) % kWarpLanes / Shape::kLanes;
    return (warp * Shape::kRows + idx) * Shape::kRowsAside + aside;
  }
  // Of the segment.
  static __device__ int Element(int pass) { return (pass * Shape::kLanes + Lane()) * Shape::kSize; }

  // Calls visit(idx, pass, offset of the row, n) for each piece that exists.
  template <typename Visit>
  static __device__ void ForEach(const StateUpdateProblem& problem, const Place& place,
                                 int first_row, int64_t first_n, const Visit& visit) {
#pragma unroll
    for (int idx = 0; idx < Shape::kRows; ++idx) {
      const int row = first_row + RowInGroup(idx);
      const int64_t offset =
          place.state_offset + Piece::RowOffset(row, problem.operands.state.strides[2]);
#pragma unroll
      for (int pass = 0; pass < Shape::kPasses; ++pass) {
        const int64_t n = first_n + Element(pass);
        if (row < place.num_rows && n < problem.sizes.dstate) visit(idx, pass, offset, n);
      }
    }
  }

  __device__ void Load(const StateUpdateProblem& problem, const Place& place, int first_row,
                       int64_t first_n) {
#pragma unroll
    for (int idx = 0; idx < Shape::kRows; ++idx) {
#pragma unroll
      for (int pass = 0; pass < Shape::kPasses; ++pass) {
#pragma unroll
        for (int at = 0; at < Shape::kSize; ++at) value[idx][pass][at] = 0.0f;
      }
    }
    if (place.is_fresh) return;
    ForEach(problem, place, first_row, first_n, [&](int idx, int pass, int64_t offset, int64_t n) {
      Piece::Load(problem.operands.state, offset, n, problem.sizes.dstate, value[idx][pass]);
    });
  }
  __device__ void Store(const StateUpdateProblem& problem, const Place& place, int first_row,
                        int64_t first_n) const {
    ForEach(problem, place, first_row, first_n, [&](int idx, int pass, int64_t offset, int64_t n) {
      Piece::Store(value[idx][pass], problem.operands.state, offset, n, problem.sizes.dstate);
    });
  }

  // Takes a token in; sum[idx] becomes this lane's part of the row's state . C.
  __device__ void Step(const TokenInputs<Shape>& inputs, int first_row,
                       float (&sum)[Shape::kRows]) {
#pragma unroll
    for (int pass = 0; pass < Shape::kPasses; ++pass) {
      float B[Shape::kSize], C[Shape::kSize];
#pragma unroll
      for (int at = 0; at < Shape::kSize; ++at) {
        B[at] = inputs.B[Element(pass) + at];
        C[at] = inputs.C[Element(pass) + at];
      }
#pragma unroll
      for (int idx = 0; idx < Shape::kRows; ++idx) {
        const float dt_x = inputs.dt * inputs.x[first_row + RowInGroup(idx)];
        if (pass == 0) sum[idx] = 0.0f;
        StepElements(inputs.dA, dt_x, B, C, value[idx][pass], sum[idx]);
      }
    }
  }

  // Makes each sum that of all lanes of the row.
  static __device__ void SumOverLanes(float (&sum)[Shape::kRows]) {
#pragma unroll
    for (int idx = 0; idx < Shape::kRows; ++idx) {
#pragma unroll
      for (int mask = Shape::kLanes / 2; mask > 0; mask /= 2) {
        sum[idx] += __shfl_xor_sync(0xffffffffu, sum[idx], mask);
      }
    }
  }
};

// out of a group of rows in a token. Each lane stores a row, so that rows side by side go together.
template <typename Shape>
__device__ void StoreOut(const StateUpdateProblem& problem, const Place& place, int64_t token,
                         int first_row, const TokenInputs<Shape>& inputs,
                         const float (&sum)[Shape::kRows]) {
  float own = 0.0f;
#pragma unroll
  for (int idx = 0; idx < Shape::kRows; ++idx) {
    if (Held<Shape>::Lane() == idx) own = sum[idx];
  }
  const int row = first_row + Held<Shape>::RowInGroup(Held<Shape>::Lane());
  if (Held<Shape>::Lane() >= Shape::kRows || row >= place.num_rows) return;
  numerics::StoreFloat(OutOf(inputs, row, own), problem.operands.out,
                       RowOffset(problem.operands.out, place, token, row));
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_HELD_CUH_
