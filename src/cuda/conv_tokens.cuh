// The causal convolution where tokens lie side by side.
#ifndef TILESCAN_CUDA_CONV_TOKENS_CUH_
#define TILESCAN_CUDA_CONV_TOKENS_CUH_

#include <cstdint>

#include "cuda/conv_rows.cuh"
#include "cuda/vectors.cuh"
#include "cuda/warp.h"

namespace tilescan::cuda {

constexpr int kTokenWarps = 4;
// Vectors of a lane, a warp's width apart.
constexpr int kVectorsAhead = 4;
constexpr int kVectorsOfWarp = kVectorsAhead * kWarpLanes;

// A value before a token, where tokens are whole vectors and a batch row is one sequence.
template <typename T>
__device__ float LoadBefore(const CausalConv1dForwardProblem& problem, int64_t batch_idx,
                            int64_t token, int64_t channel) {
  const ConvRow row = {batch_idx, batch_idx, 0, problem.sizes.seqlen};
  ConvSource source = {ConvSource::Kind::kToken, token};
  if (token < 0) {
    const bool has_states = problem.operands.initial_states.present();
    source.kind = has_states ? ConvSource::Kind::kInitialState : ConvSource::Kind::kZero;
    source.idx = problem.sizes.width - 1 + token;
    if (source.idx < 0) source.kind = ConvSource::Kind::kZero;  // further back than windows reach
  }
  return LoadConvSource(problem, row, source, channel);
}

// A warp a stretch of kVectorsOfWarp vectors of one channel. What stands before a lane's vector is
// the end of its neighbour's.
template <typename T>
__global__ void __launch_bounds__(kTokenWarps* kWarpLanes)
    ConvTokensKernel(const __grid_constant__ CausalConv1dForwardProblem problem,
                     int64_t stretches_per_channel) {
  constexpr int kSize = Bits16<T>::kSize;
  const CausalConv1dForwardOperands& operands = problem.operands;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int64_t stretch =
      int64_t{blockIdx.x} * kTokenWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  const int64_t row_idx = stretch / stretches_per_channel;  // of batch and dim
  const int64_t batch_idx = row_idx / problem.sizes.dim;
  if (batch_idx >= problem.sizes.batch) return;
  const int64_t channel = row_idx % problem.sizes.dim;
  const int64_t first_vector = stretch % stretches_per_channel * kVectorsOfWarp + lane;
  const int64_t num_vectors = problem.sizes.seqlen / kSize;
  const int width = static_cast<int>(problem.sizes.width);
  const T* x =
      operands.x.At<const T>(batch_idx * operands.x.strides[0] + channel * operands.x.strides[2]);
  T* out =
      operands.out.At<T>(batch_idx * operands.out.strides[0] + channel * operands.out.strides[2]);
  uint4 bits[kVectorsAhead];
#pragma unroll
  for (int idx = 0; idx < kVectorsAhead; ++idx) {
    const int64_t vector = first_vector + idx * kWarpLanes;
    bits[idx] =
        vector < num_vectors ? reinterpret_cast<const uint4*>(x)[vector] : make_uint4(0, 0, 0, 0);
  }
  ConvWeights<1> weights;
  weights.Load(operands, channel);
  // Of the first lane's first vector; later ones stand behind the last lane's.
  float last[kMostConvHistory];
#pragma unroll
  for (int idx = 0; idx < kMostConvHistory; ++idx) {
    const int64_t token = (first_vector - lane) * kSize - kMostConvHistory + idx;
    last[idx] = LoadBefore<T>(problem, batch_idx, token, channel);
  }
#pragma unroll
  for (int idx = 0; idx < kVectorsAhead; ++idx) {
    float values[kMostConvHistory + kSize];
    float floats[kSize];
    Bits16<T>::ToFloats(bits[idx], floats);
#pragma unroll
    for (int at = 0; at < kSize; ++at) values[kMostConvHistory + at] = floats[at];
#pragma unroll
    for (int at = 0; at < kMostConvHistory; ++at) {
      const float own = floats[kSize - kMostConvHistory + at];
      const float neighbour = __shfl_up_sync(kAllLanes, own, 1);
      values[at] = lane == 0 ? last[at] : neighbour;
      last[at] = __shfl_sync(kAllLanes, own, kWarpLanes - 1);
    }
    float results[kSize];
#pragma unroll
    for (int at = 0; at < kSize; ++at) {
      const float window[kMostConvWidth] = {values[at], values[at + 1], values[at + 2],
                                            values[at + 3]};
      const float sum = SumOfWindow(weights.weight[0], weights.bias[0], width, window);
      results[at] = ActivatedSum(sum, operands.has_silu, sizeof(T) == sizeof(float));
    }
    const int64_t vector = first_vector + idx * kWarpLanes;
    if (vector < num_vectors) {
      reinterpret_cast<uint4*>(out)[vector] = Bits16<T>::FromFloats(results);
    }
  }
}

// Any dtype, stride and sequences: a thread an element, which gathers its window.
constexpr int kGatherThreads = 256;

inline __global__ void __launch_bounds__(kGatherThreads)
    ConvGatherKernel(const __grid_constant__ CausalConv1dForwardProblem problem) {
  const CausalConv1dForwardOperands& operands = problem.operands;
  const int64_t item = int64_t{blockIdx.x} * kGatherThreads + threadIdx.x;
  const int64_t token = item % problem.sizes.seqlen;
  const int64_t row_idx = item / problem.sizes.seqlen;
  const int64_t batch_idx = row_idx / problem.sizes.dim;
  if (batch_idx >= problem.sizes.batch) return;
  const int64_t channel = row_idx % problem.sizes.dim;
  const int width = static_cast<int>(problem.sizes.width);
  const ConvRow row = RowOfToken(problem, batch_idx, token);
  const int32_t id = SeqIdAt(problem, row, token);
  float out = 0.0f;
  if (id >= 0) {
    const ConvHistory history = HistoryBefore(problem, row, token);
    const bool is_first = StartsFromZero(history, id);
    float window[kMostConvWidth];
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) {
      window[idx] = is_first ? 0.0f : LoadConvSource(problem, row, history.sources[idx], channel);
    }
    window[kMostConvHistory] =
        LoadConvSource(problem, row, {ConvSource::Kind::kToken, token}, channel);
    ConvWeights<1> weights;
    weights.Load(operands, channel);
    out = ActivatedSum(SumOfWindow(weights.weight[0], weights.bias[0], width, window),
                       operands.has_silu, operands.x.dtype == DType::kFloat32);
  }
  StoreElement(out, operands.out,
               batch_idx * operands.out.strides[0] + token * operands.out.strides[1] +
                   channel * operands.out.strides[2]);
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_CONV_TOKENS_CUH_
