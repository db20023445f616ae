// The decoding step of one token, for states whose rows are whole vectors.
#ifndef TILESCAN_CUDA_STATE_UPDATE_ONCE_CUH_
#define TILESCAN_CUDA_STATE_UPDATE_ONCE_CUH_

#include "cuda/state_held.cuh"

namespace tilescan::cuda {

// A group of rows as bits: 16-bit states take half the registers of floats, so that twice as many
// bytes are on their way.
template <typename Shape>
struct HeldBits {
  using Piece = typename Shape::Piece;
  uint4 bits[Shape::kRows][Shape::kPasses];

  __device__ void Load(const StateUpdateProblem& problem, const Place& place, int first_row) {
#pragma unroll
    for (int idx = 0; idx < Shape::kRows; ++idx) {
#pragma unroll
      for (int pass = 0; pass < Shape::kPasses; ++pass) bits[idx][pass] = make_uint4(0, 0, 0, 0);
    }
    if (place.is_fresh) return;
    Held<Shape>::ForEach(problem, place, first_row, 0,
                         [&](int idx, int pass, int64_t offset, int64_t n) {
                           bits[idx][pass] = Piece::LoadBits(problem.operands.state, offset, n);
                         });
  }
  __device__ void Store(const StateUpdateProblem& problem, const Place& place,
                        int first_row) const {
    Held<Shape>::ForEach(problem, place, first_row, 0,
                         [&](int idx, int pass, int64_t offset, int64_t n) {
                           Piece::StoreBits(bits[idx][pass], problem.operands.state, offset, n);
                         });
  }
};

// What every row of a lane is multiplied with.
template <typename Shape>
struct LaneVectors {
  float B[Shape::kPasses][Shape::kSize];
  float C[Shape::kPasses][Shape::kSize];

  __device__ explicit LaneVectors(const TokenInputs<Shape>& inputs) {
#pragma unroll
    for (int pass = 0; pass < Shape::kPasses; ++pass) {
#pragma unroll
      for (int at = 0; at < Shape::kSize; ++at) {
        B[pass][at] = inputs.B[Held<Shape>::Element(pass) + at];
        C[pass][at] = inputs.C[Held<Shape>::Element(pass) + at];
      }
    }
  }
};

// As Held::Step, with the same bits.
template <typename Shape>
__device__ void StepRows(const TokenInputs<Shape>& inputs, const LaneVectors<Shape>& vectors,
                         int first_row, HeldBits<Shape>* state, float (&sum)[Shape::kRows]) {
  using Piece = typename Shape::Piece;
  const float dt = inputs.dt;
  const float dA = inputs.dA;
#pragma unroll
  for (int idx = 0; idx < Shape::kRows; ++idx) {
    const float dt_x = dt * inputs.x[first_row + Held<Shape>::RowInGroup(idx)];
    sum[idx] = 0.0f;
#pragma unroll
    for (int pass = 0; pass < Shape::kPasses; ++pass) {
      float h[Shape::kSize];
      Piece::ToFloats(state->bits[idx][pass], h);
      StepElements(dA, dt_x, vectors.B[pass], vectors.C[pass], h, sum[idx]);
      state->bits[idx][pass] = Piece::FromFloats(h);
    }
  }
}

// On a multiprocessor: as many as registers allow when everything a block reads is on its way.
template <typename Shape>
constexpr int kStepBlocks = Shape::kRows* Shape::kPasses <= 2 ? 10 : 6;

template <typename Shape>
__global__ void __launch_bounds__(kThreads, kStepBlocks<Shape>)
    StateStepKernel(const __grid_constant__ StateUpdateProblem problem, int first_batch) {
  __shared__ TokenInputs<Shape> inputs;
  const Place place = FindPlace(problem, first_batch, Shape::kBlockRows);
  if (place.is_padding) {
    StoreZeros(problem, place);
    return;
  }
  HeldBits<Shape> state;
  state.Load(problem, place, 0);
  LoadInputs(problem, place, 0, 0, &inputs);
  __syncthreads();
  const LaneVectors<Shape> vectors(inputs);
#pragma unroll 1
  for (int group = 0; group < Shape::kGroups; ++group) {
    const int first_row = group * Shape::kGroupRows;
    if (first_row >= place.num_rows) break;
    // On its way while this group is worked on.
    HeldBits<Shape> next_state;
    if (group + 1 < Shape::kGroups) next_state.Load(problem, place, first_row + Shape::kGroupRows);
    if (place.is_fresh && place.num_accepted == 0) state.Store(problem, place, first_row);
    float sum[Shape::kRows];
    StepRows(inputs, vectors, first_row, &state, sum);
    if (place.num_accepted > 0) state.Store(problem, place, first_row);
    Held<Shape>::SumOverLanes(sum);
    StoreOut(problem, place, 0, first_row, inputs, sum);
    if (group + 1 < Shape::kGroups) state = next_state;
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_UPDATE_ONCE_CUH_
