// The decoding step of the causal convolution for one token, where each channel's row of conv_state
// is four elements side by side: a row is read, moved up by one, and written as a whole. A thread
// takes the channels of 16 bytes through some rows of the batch, which share weights.
#ifndef TILESCAN_CUDA_CONV_STEP_CUH_
#define TILESCAN_CUDA_CONV_STEP_CUH_

#include <cstdint>

#include "cuda/conv_rows.cuh"
#include "cuda/vectors.cuh"

namespace tilescan::cuda {

constexpr int kStepThreads = 128;
// Rows of the batch that a thread takes, and asks for at once.
constexpr int kStepRows = 4;
constexpr int kStepStateLen = 4;

// 16 bytes of rows.
template <typename T>
struct StepPiece {
  static constexpr int kChannels = Bits16<T>::kSize / kStepStateLen;
  uint4 bits;

  __device__ void ToWindows(float (&windows)[kChannels][kMostConvWidth]) const {
    float values[Bits16<T>::kSize];
    Bits16<T>::ToFloats(bits, values);
#pragma unroll
    for (int at = 0; at < kChannels; ++at) {
#pragma unroll
      for (int idx = 0; idx < kMostConvHistory; ++idx) {
        windows[at][idx] = values[at * kStepStateLen + 1 + idx];
      }
    }
  }
  // Each row moves up, as bits, and its x comes behind.
  __device__ void Push(const float (&x)[kChannels]) {
    if constexpr (kChannels == 1) {
      bits = make_uint4(bits.y, bits.z, bits.w, __float_as_uint(x[0]));
    } else {
      typename Bits16<T>::Pair pair;
      FromFloats(make_float2(x[0], x[1]), &pair);
      const uint32_t last = reinterpret_cast<const uint32_t&>(pair);
      bits = make_uint4(bits.x >> 16 | bits.y << 16, bits.y >> 16 | last << 16,
                        bits.z >> 16 | bits.w << 16, bits.w >> 16 | (last & 0xffff0000u));
    }
  }
};

inline bool TakesConvStep(const CausalConv1dUpdateProblem& problem) {
  const TensorView& state = problem.operands.conv_state;
  const int64_t vector = static_cast<int64_t>(kVectorAlignment) / ElementBytes(state.dtype);
  constexpr int64_t kMostRowBlocks = 65535;  // of a grid
  return problem.sizes.batch <= kMostRowBlocks * kStepRows && problem.sizes.num_tokens == 1 &&
         problem.sizes.state_len == kStepStateLen && !problem.operands.cache_seqlens.present() &&
         state.is_aligned && state.strides[0] % vector == 0 && state.strides[1] == kStepStateLen &&
         state.strides[2] == 1 && problem.sizes.dim % (vector / kStepStateLen) == 0;
}

// The grid is (pieces of dim, rows of the batch).
template <typename T>
__global__ void __launch_bounds__(kStepThreads)
    ConvStepKernel(const __grid_constant__ CausalConv1dUpdateProblem problem) {
  using Piece = StepPiece<T>;
  constexpr int kChannels = Piece::kChannels;
  const CausalConv1dUpdateOperands& operands = problem.operands;
  const TensorView& x = operands.x;
  const TensorView& state = operands.conv_state;
  const int64_t channel = (int64_t{blockIdx.x} * kStepThreads + threadIdx.x) * kChannels;
  if (channel >= problem.sizes.dim) return;
  const int64_t first_row = int64_t{blockIdx.y} * kStepRows;
  const int num_rows = static_cast<int>(min(problem.sizes.batch - first_row, int64_t{kStepRows}));
  Piece pieces[kStepRows];
  uint32_t x_bits[kStepRows][kChannels];
  int64_t slots[kStepRows];
#pragma unroll
  for (int idx = 0; idx < kStepRows; ++idx) {
    const int64_t row = first_row + min(idx, num_rows - 1);
    slots[idx] =
        operands.conv_state_indices.present() ? IndexAt(operands.conv_state_indices, row) : row;
    if (slots[idx] >= problem.sizes.num_slots) slots[idx] = -1;
#pragma unroll
    for (int at = 0; at < kChannels; ++at) {
      x_bits[idx][at] = LoadElementBits(x, row * x.strides[0] + (channel + at) * x.strides[2]);
    }
  }
#pragma unroll
  for (int idx = 0; idx < kStepRows; ++idx) {
    if (slots[idx] < 0) continue;
    pieces[idx].bits = *reinterpret_cast<const uint4*>(
        state.At<const T>(slots[idx] * state.strides[0] + channel * kStepStateLen));
  }
  ConvWeights<kChannels> weights;
  weights.Load(operands, channel);
  const int width = static_cast<int>(problem.sizes.width);
  const bool is_exact = x.dtype == DType::kFloat32 || operands.out.dtype == DType::kFloat32;
#pragma unroll
  for (int idx = 0; idx < kStepRows; ++idx) {
    if (idx >= num_rows) break;
    const int64_t out_offset =
        (first_row + idx) * operands.out.strides[0] + channel * operands.out.strides[2];
    float windows[kChannels][kMostConvWidth] = {};
    float values[kChannels];
    if (slots[idx] >= 0) pieces[idx].ToWindows(windows);
#pragma unroll
    for (int at = 0; at < kChannels; ++at) {
      values[at] = ElementToFloat(x.dtype, x_bits[idx][at]);
      windows[at][kMostConvHistory] = values[at];
      const float sum = SumOfWindow(weights.weight[at], weights.bias[at], width, windows[at]);
      StoreElement(slots[idx] < 0 ? 0.0f : ActivatedSum(sum, operands.has_silu, is_exact),
                   operands.out, out_offset + at * operands.out.strides[2]);
    }
    if (slots[idx] < 0) continue;
    pieces[idx].Push(values);
    *reinterpret_cast<uint4*>(
        state.At<T>(slots[idx] * state.strides[0] + channel * kStepStateLen)) = pieces[idx].bits;
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_CONV_STEP_CUH_
