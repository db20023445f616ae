// The causal convolution where channels lie side by side: a thread takes a piece of neighbouring
// channels through a tile of tokens, with the window in registers, and asks for some tokens ahead.
#ifndef TILESCAN_CUDA_CONV_CHANNELS_CUH_
#define TILESCAN_CUDA_CONV_CHANNELS_CUH_

#include <cstdint>

#include "cuda/conv_rows.cuh"
#include "cuda/vectors.cuh"

namespace tilescan::cuda {

constexpr int kConvThreads = 128;
// Tokens whose x a thread asks for at once.
constexpr int kConvTokensAhead = 4;

// Channels of one dtype that are whole vectors in x and in out.
template <typename T>
struct ConvVector : VectorPiece<T> {
  static constexpr int kAhead = kConvTokensAhead;

  static __device__ bool IsExact(const TensorView&) { return sizeof(T) == sizeof(float); }
};

// One channel of any dtype and stride.
struct ElementPiece {
  using Bits = uint32_t;
  static constexpr int kSize = 1;
  static constexpr int kAhead = 2 * kConvTokensAhead;

  static __device__ bool IsExact(const TensorView& x) { return x.dtype == DType::kFloat32; }
  static __device__ Bits Load(const TensorView& view, int64_t offset) {
    return LoadElementBits(view, offset);
  }
  static __device__ void ToFloats(const TensorView& view, const Bits& bits, float (&to)[1]) {
    to[0] = ElementToFloat(view.dtype, bits);
  }
  static __device__ void Store(const float (&from)[1], const TensorView& view, int64_t offset) {
    StoreElement(from[0], view, offset);
  }
};

// How a launch cuts the problem: threads run over pieces of channels first, then over tiles.
struct ConvTiles {
  int64_t num_pieces;   // of dim
  int64_t num_tiles;    // of seqlen
  int64_t tile_tokens;  // a multiple of what threads ask for at once
};

// A piece's window: its values before the token at hand, the oldest first.
template <typename Piece>
struct PieceWindow {
  float before[kMostConvHistory][Piece::kSize];

  __device__ void Load(const CausalConv1dForwardProblem& problem, const ConvRow& row,
                       const ConvHistory& history, int64_t channel) {
    const TensorView& x = problem.operands.x;
    typename Piece::Bits bits[kMostConvHistory];
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) {
      const ConvSource& source = history.sources[idx];
      bits[idx] = {};
      if (source.kind == ConvSource::Kind::kToken) {
        bits[idx] = Piece::Load(x, SourceOffset(x, row, source, channel));
      }
    }
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) {
      Piece::ToFloats(x, bits[idx], before[idx]);  // zeros stay zeros
      if (history.sources[idx].kind == ConvSource::Kind::kInitialState) {
        LoadState(problem, row, history.sources[idx], channel, before[idx]);
      }
    }
  }
  // Before a row's first token.
  __device__ void LoadInitial(const CausalConv1dForwardProblem& problem, const ConvRow& row,
                              int64_t channel) {
    Clear();
    if (!problem.operands.initial_states.present()) return;
    const int unused = kMostConvWidth - static_cast<int>(problem.sizes.width);
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) {
      if (idx < unused) continue;
      const ConvSource source = {ConvSource::Kind::kInitialState, idx - unused};
      LoadState(problem, row, source, channel, before[idx]);
    }
  }
  __device__ void Clear() {
#pragma unroll
    for (int idx = 0; idx < kMostConvHistory; ++idx) {
#pragma unroll
      for (int at = 0; at < Piece::kSize; ++at) before[idx][at] = 0.0f;
    }
  }
  static __device__ void LoadState(const CausalConv1dForwardProblem& problem, const ConvRow& row,
                                   const ConvSource& source, int64_t channel,
                                   float (&to)[Piece::kSize]) {
    const TensorView& states = problem.operands.initial_states;
    uint32_t bits[Piece::kSize];
#pragma unroll
    for (int at = 0; at < Piece::kSize; ++at) {
      bits[at] = LoadElementBits(states, SourceOffset(states, row, source, channel + at));
    }
#pragma unroll
    for (int at = 0; at < Piece::kSize; ++at) to[at] = ElementToFloat(states.dtype, bits[at]);
  }
  // x comes behind.
  __device__ void Push(const float (&x)[Piece::kSize]) {
#pragma unroll
    for (int at = 0; at < Piece::kSize; ++at) {
#pragma unroll
      for (int idx = 0; idx + 1 < kMostConvHistory; ++idx) before[idx][at] = before[idx + 1][at];
      before[kMostConvHistory - 1][at] = x[at];
    }
  }
};

// What changes along a tile where not all of it is one sequence.
struct ConvProgress {
  ConvRow row;
  int32_t last_id;

  // Before a token of this id: what the window holds. False: the token is padding.
  template <typename Piece>
  __device__ bool Arrive(const CausalConv1dForwardProblem& problem, int64_t token, int32_t id,
                         int64_t channel, PieceWindow<Piece>* window) {
    if (token >= row.end_token) {
      // The first token of a packed sequence.
      row = RowOfToken(problem, row.batch_idx, token);
      last_id = -1;
      window->LoadInitial(problem, row, channel);
    }
    if (id < 0) return false;
    if (last_id >= 0 && id != last_id) window->Clear();
    last_id = id;
    return true;
  }
};

// kHasSequences: with seq_idx or cu_seqlens.
template <typename Piece, bool kHasSequences>
__global__ void __launch_bounds__(kConvThreads)
    ConvChannelsKernel(const __grid_constant__ CausalConv1dForwardProblem problem,
                       const ConvTiles tiles) {
  constexpr int kSize = Piece::kSize;
  constexpr int kAhead = Piece::kAhead;
  const CausalConv1dForwardOperands& operands = problem.operands;
  const int64_t item = int64_t{blockIdx.x} * kConvThreads + threadIdx.x;
  const int64_t tile_idx = item / tiles.num_pieces;
  const int64_t batch_idx = tile_idx / tiles.num_tiles;
  if (batch_idx >= problem.sizes.batch) return;
  const int64_t channel = item % tiles.num_pieces * kSize;
  const int64_t first_token = tile_idx % tiles.num_tiles * tiles.tile_tokens;
  const int64_t end_token = min(first_token + tiles.tile_tokens, problem.sizes.seqlen);
  const int width = static_cast<int>(problem.sizes.width);
  const bool is_exact = Piece::IsExact(operands.x);

  ConvProgress progress;
  progress.row = RowOfToken(problem, batch_idx, first_token);
  ConvHistory history;
  if (!kHasSequences || !IsPadding(problem, progress.row, first_token, end_token)) {
    history = HistoryBefore(problem, progress.row, first_token);
  }
  progress.last_id = history.last_id;
  PieceWindow<Piece> window;
  window.Load(problem, progress.row, history, channel);
  ConvWeights<kSize> weights;
  weights.Load(operands, channel);

  int64_t x_offset = batch_idx * operands.x.strides[0] + first_token * operands.x.strides[1] +
                     channel * operands.x.strides[2];
  int64_t out_offset = batch_idx * operands.out.strides[0] + first_token * operands.out.strides[1] +
                       channel * operands.out.strides[2];
#pragma unroll 1
  for (int64_t group = first_token; group < end_token; group += kAhead) {
    typename Piece::Bits bits[kAhead];
    int32_t ids[kAhead];
#pragma unroll
    for (int idx = 0; idx < kAhead; ++idx) {
      if (group + idx >= end_token) break;
      bits[idx] = Piece::Load(operands.x, x_offset + idx * operands.x.strides[1]);
      if (kHasSequences) ids[idx] = SeqIdAt(problem, progress.row, group + idx);
    }
#pragma unroll
    for (int idx = 0; idx < kAhead; ++idx) {
      if (group + idx >= end_token) break;
      float x[kSize];
      float out[kSize];
      const bool is_padding =
          kHasSequences && !progress.Arrive(problem, group + idx, ids[idx], channel, &window);
      Piece::ToFloats(operands.x, bits[idx], x);
#pragma unroll
      for (int at = 0; at < kSize; ++at) {
        const float values[kMostConvWidth] = {window.before[0][at], window.before[1][at],
                                              window.before[2][at], x[at]};
        const float sum = SumOfWindow(weights.weight[at], weights.bias[at], width, values);
        out[at] = is_padding ? 0.0f : ActivatedSum(sum, operands.has_silu, is_exact);
      }
      if (!is_padding) window.Push(x);
      Piece::Store(out, operands.out, out_offset + idx * operands.out.strides[1]);
    }
    x_offset += kAhead * operands.x.strides[1];
    out_offset += kAhead * operands.out.strides[1];
  }
}

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_CONV_CHANNELS_CUH_
