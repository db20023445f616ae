// The decoding step of the causal convolution: a thread a channel of a batch row, of any dtypes and
// strides, through all tokens. What it reads is asked for before anything is looked at. x out
// (batch, T, dim), conv_state (slots, dim, state_len). conv_step.cuh does one token where it can.
#include <cstdint>

#include "core/conv_places.h"
#include "cuda/causal_conv1d.h"
#include "cuda/conv_rows.cuh"
#include "cuda/conv_step.cuh"
#include "cuda/launch.cuh"

namespace tilescan::cuda {
namespace {

constexpr const char* kName = "causal_conv1d_update";
constexpr int kThreads = 128;
constexpr int64_t kMostBlocks = INT32_MAX;

// A channel's row of the state: what stays makes room for the tokens behind it.
__device__ void ShiftRow(const TensorView& state, int64_t offset, const ConvPlaces& places) {
  const int64_t stride = state.strides[2];
  for (int64_t place = 0; place < places.NumShifted(); ++place) {
    const uint32_t bits = LoadElementBits(state, offset + (place + places.num_tokens) * stride);
    StoreElement(ElementToFloat(state.dtype, bits), state, offset + place * stride);
  }
}

__global__ void __launch_bounds__(kThreads)
    ConvUpdateKernel(const __grid_constant__ CausalConv1dUpdateProblem problem) {
  const CausalConv1dUpdateOperands& operands = problem.operands;
  const int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t batch_idx = item / problem.sizes.dim;
  const int64_t channel = item % problem.sizes.dim;
  if (batch_idx >= problem.sizes.batch) return;
  const TensorView& state = operands.conv_state;
  const TensorView& x = operands.x;
  const int width = static_cast<int>(problem.sizes.width);
  const int unused = kMostConvWidth - width;
  const int64_t num_tokens = problem.sizes.num_tokens;
  int64_t x_offset = batch_idx * x.strides[0] + channel * x.strides[2];
  int64_t out_offset = batch_idx * operands.out.strides[0] + channel * operands.out.strides[2];
  const int64_t slot = operands.conv_state_indices.present()
                           ? IndexAt(operands.conv_state_indices, batch_idx)
                           : batch_idx;
  if (slot < 0 || slot >= problem.sizes.num_slots) {
    for (int64_t token = 0; token < num_tokens; ++token) {
      StoreElement(0.0f, operands.out, out_offset);
      out_offset += operands.out.strides[1];
    }
    return;
  }
  const ConvPlaces places(
      problem, operands.cache_seqlens.present() ? IndexAt(operands.cache_seqlens, batch_idx) : 0);
  const int64_t state_offset = slot * state.strides[0] + channel * state.strides[1];
  uint32_t next_bits = LoadElementBits(x, x_offset);
  uint32_t bits[kMostConvHistory];
#pragma unroll
  for (int idx = 0; idx < kMostConvHistory; ++idx) {
    bits[idx] = 0;
    if (idx >= unused) {
      const int64_t place = places.Before(kMostConvHistory - idx);
      bits[idx] = LoadElementBits(state, state_offset + place * state.strides[2]);
    }
  }
  ConvWeights<1> weights;
  weights.Load(operands, channel);
  float window[kMostConvWidth];
#pragma unroll
  for (int idx = 0; idx < kMostConvHistory; ++idx) {
    window[idx] = ElementToFloat(state.dtype, bits[idx]);
  }
  ShiftRow(state, state_offset, places);
  const bool is_exact = x.dtype == DType::kFloat32 || operands.out.dtype == DType::kFloat32;
#pragma unroll 1
  for (int64_t token = 0; token < num_tokens; ++token) {
    window[kMostConvHistory] = ElementToFloat(x.dtype, next_bits);
    x_offset += x.strides[1];
    if (token + 1 < num_tokens) next_bits = LoadElementBits(x, x_offset);
    const int64_t place = places.Of(token);
    if (place >= 0) {
      StoreElement(window[kMostConvHistory], state, state_offset + place * state.strides[2]);
    }
    const float sum = SumOfWindow(weights.weight[0], weights.bias[0], width, window);
    StoreElement(ActivatedSum(sum, operands.has_silu, is_exact), operands.out, out_offset);
    out_offset += operands.out.strides[1];
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) window[idx] = window[idx + 1];
  }
}

template <typename T>
Status EnqueueConvStep(const CausalConv1dUpdateProblem& problem, cudaStream_t stream) {
  constexpr int64_t kBlockChannels = int64_t{kStepThreads} * StepPiece<T>::kChannels;
  const auto count = [](int64_t size, int64_t part) {
    return static_cast<unsigned>((size + part - 1) / part);
  };
  const LaunchShape shape = {
      .grid = dim3(count(problem.sizes.dim, kBlockChannels), count(problem.sizes.batch, kStepRows)),
      .num_threads = kStepThreads,
      .stream = stream};
  return LaunchKernel(kName, ConvStepKernel<T>, shape, problem);
}

Status RunConvStep(const CausalConv1dUpdateProblem& problem, cudaStream_t stream) {
  switch (problem.operands.conv_state.dtype) {
    case DType::kFloat32:
      return EnqueueConvStep<float>(problem, stream);
    case DType::kBFloat16:
      return EnqueueConvStep<__nv_bfloat16>(problem, stream);
    default:
      return EnqueueConvStep<__half>(problem, stream);
  }
}

int64_t CountBlocks(const CausalConv1dUpdateProblem& problem) {
  return (problem.sizes.batch * problem.sizes.dim + kThreads - 1) / kThreads;
}

}  // namespace

std::string ReasonAgainstCausalConv1d(const CausalConv1dUpdateProblem& problem) {
  return CountBlocks(problem) > kMostBlocks ? "batch * dim is more than 2^38" : "";
}

Status PrepareCausalConv1dUpdate() {
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, ConvStepKernel<float>));
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, ConvStepKernel<__nv_bfloat16>));
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, ConvStepKernel<__half>));
  return LoadKernel(kName, ConvUpdateKernel);
}

Status RunCausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, cudaStream_t stream) {
  const int64_t num_blocks = CountBlocks(problem);
  if (num_blocks == 0) return Status();
  if (TakesConvStep(problem)) return RunConvStep(problem, stream);
  const LaunchShape shape = {
      .grid = dim3(static_cast<unsigned>(num_blocks)), .num_threads = kThreads, .stream = stream};
  return LaunchKernel(kName, ConvUpdateKernel, shape, problem);
}

}  // namespace tilescan::cuda
