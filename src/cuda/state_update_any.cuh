// The decoding step for states of any dtype, stride, alignment and length, by elements.
#ifndef TILESCAN_CUDA_STATE_UPDATE_ANY_CUH_
#define TILESCAN_CUDA_STATE_UPDATE_ANY_CUH_

#include "cuda/state_held.cuh"

namespace tilescan::cuda {

// Sums that wait together: 32 KiB, within what any block may use.
constexpr int kMostSums = 8192;

// As StateUpdateKernel, with the same bits. dstate is walked in segments of what lanes hold, for
// all tokens of a slab, whose sums wait in shared memory; both are all there is but for very long
// states and very many tokens.
template <typename Shape>
__global__ void __launch_bounds__(kThreads)
    StateUpdateAnyKernel(const __grid_constant__ StateUpdateProblem problem, int first_batch,
                         int slab_tokens) {
  extern __shared__ float sums[];  // (slab_tokens, kBlockRows)
  __shared__ TokenInputs<Shape> inputs;
  const Place place = FindPlace(problem, first_batch, Shape::kBlockRows);
  if (place.is_padding) {
    StoreZeros(problem, place);
    return;
  }
  const int64_t num_tokens = problem.sizes.num_tokens;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t first = 0; first < num_tokens; first += slab_tokens) {
    const int64_t end = min(first + slab_tokens, num_tokens);
    for (int64_t first_n = 0; first_n < problem.sizes.dstate; first_n += Shape::kSegment) {
      Held<Shape> state;
      state.Load(problem, place, 0, first_n);
      if (first_n == 0) {
        const int num_sums = static_cast<int>(end - first) * Shape::kBlockRows;
        for (int at = thread; at < num_sums; at += kThreads) sums[at] = 0.0f;
      }
      // A later slab takes the state through the tokens before once more. Only the last writes it,
      // as no slab reads it then.
      const bool is_last = end == num_tokens;
      if (is_last && place.is_fresh && place.num_accepted == 0) {
        state.Store(problem, place, 0, first_n);
      }
      for (int64_t token = 0; token < end; ++token) {
        __syncthreads();
        LoadInputs(problem, place, token, first_n, &inputs);
        __syncthreads();
        float sum[Shape::kRows];
        state.Step(inputs, 0, sum);
        if (is_last && token + 1 == place.num_accepted) state.Store(problem, place, 0, first_n);
        if (token < first) continue;
        Held<Shape>::SumOverLanes(sum);
        if (Held<Shape>::Lane() != 0) continue;
#pragma unroll
        for (int idx = 0; idx < Shape::kRows; ++idx) {
          sums[(token - first) * Shape::kBlockRows + Held<Shape>::RowInGroup(idx)] += sum[idx];
        }
      }
    }
    // What rows brought is read once more, now that all segments are in.
    for (int64_t token = first; token < end; ++token) {
      __syncthreads();
      if (thread < place.num_rows) {
        RowBits(problem, place, token, thread).Put(problem.operands, thread, &inputs);
        const float sum = sums[(token - first) * Shape::kBlockRows + thread];
        numerics::StoreFloat(OutOf(inputs, thread, sum), problem.operands.out,
                             RowOffset(problem.operands.out, place, token, thread));
      }
    }
    __syncthreads();
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_STATE_UPDATE_ANY_CUH_
