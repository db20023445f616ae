// Where tokens of a causal convolution belong, and what stands before them, on a GPU.
#ifndef TILESCAN_CUDA_CONV_ROWS_CUH_
#define TILESCAN_CUDA_CONV_ROWS_CUH_

#include <cstdint>

#include "core/conv_history.h"
#include "core/sequences.h"
#include "cuda/elements.cuh"
#include "cuda/silu.cuh"

namespace tilescan::cuda {

// Of packed sequence row_idx. In [0, seqlen] whatever cu_seqlens holds.
inline __device__ int64_t ConvBoundary(const CausalConv1dForwardProblem& problem, int64_t row_idx) {
  const int64_t value = IndexAt(problem.operands.cu_seqlens, row_idx);
  return max(int64_t{0}, min(value, problem.sizes.seqlen));
}

// The row that a token of a batch row belongs to. The token lies in it whatever cu_seqlens holds.
inline __device__ ConvRow RowOfToken(const CausalConv1dForwardProblem& problem, int64_t batch_idx,
                                     int64_t token) {
  if (!problem.operands.cu_seqlens.present()) {
    return {batch_idx, batch_idx, 0, problem.sizes.seqlen};
  }
  // The last that begins there or before.
  int64_t low = 0;
  int64_t high = problem.sizes.num_seqs - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (ConvBoundary(problem, middle) <= token) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return {0, low, min(ConvBoundary(problem, low), token),
          max(ConvBoundary(problem, low + 1), token + 1)};
}

// Offset of a source's element of a channel, in x or in initial_states.
inline __device__ int64_t SourceOffset(const TensorView& view, const ConvRow& row,
                                       const ConvSource& source, int64_t channel) {
  return source.kind == ConvSource::Kind::kToken
             ? row.batch_idx * view.strides[0] + source.idx * view.strides[1] +
                   channel * view.strides[2]
             : row.state_idx * view.strides[0] + channel * view.strides[1] +
                   source.idx * view.strides[2];
}

inline __device__ float LoadConvSource(const CausalConv1dForwardProblem& problem,
                                       const ConvRow& row, const ConvSource& source,
                                       int64_t channel) {
  if (source.kind == ConvSource::Kind::kZero) return 0.0f;
  const TensorView& view = source.kind == ConvSource::Kind::kToken
                               ? problem.operands.x
                               : problem.operands.initial_states;
  return ElementToFloat(view.dtype,
                        LoadElementBits(view, SourceOffset(view, row, source, channel)));
}

// Weights of neighbouring channels, for windows that end with the token: those of narrower windows
// stand last.
template <int kChannels>
struct ConvWeights {
  float weight[kChannels][kMostConvWidth];
  float bias[kChannels];

  template <typename Operands>
  __device__ void Load(const Operands& operands, int64_t channel) {
    const TensorView& from = operands.weight;
    const int unused = kMostConvWidth - static_cast<int>(from.shape[1]);
    const bool has_bias = operands.bias.present();
    uint32_t bits[kChannels][kMostConvWidth];
    uint32_t bias_bits[kChannels];
#pragma unroll
    for (int at = 0; at < kChannels; ++at) {
#pragma unroll
      for (int idx = 0; idx < kMostConvWidth; ++idx) {
        const int64_t offset = (channel + at) * from.strides[0] + (idx - unused) * from.strides[1];
        bits[at][idx] = idx < unused ? 0 : LoadElementBits(from, offset);
      }
      bias_bits[at] =
          has_bias ? LoadElementBits(operands.bias, (channel + at) * operands.bias.strides[0]) : 0;
    }
#pragma unroll
    for (int at = 0; at < kChannels; ++at) {
#pragma unroll
      for (int idx = 0; idx < kMostConvWidth; ++idx) {
        weight[at][idx] = ElementToFloat(from.dtype, bits[at][idx]);
      }
      bias[at] = ElementToFloat(has_bias ? operands.bias.dtype : DType::kFloat32, bias_bits[at]);
    }
  }
};

// bias + sum over the window, whose last is the token. What narrower windows lack is left out: a
// product with 0 would not be 0 for every x.
inline __device__ float SumOfWindow(const float (&weight)[kMostConvWidth], float bias, int width,
                                    const float (&window)[kMostConvWidth]) {
  float sum = bias;
#pragma unroll
  for (int idx = 0; idx < kMostConvWidth; ++idx) {
    const bool is_used = idx >= kMostConvWidth - kLeastConvWidth || idx >= kMostConvWidth - width;
    if (is_used) sum = fmaf(weight[idx], window[idx], sum);
  }
  return sum;
}

// out of a sum, rounded to x's dtype by whoever stores it.
inline __device__ float ActivatedSum(float sum, bool has_silu, bool is_exact) {
  return has_silu ? SiluOf(sum, is_exact) : sum;
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_CONV_ROWS_CUH_
