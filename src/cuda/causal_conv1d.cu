// The causal convolution:
//
//   out_t = activation(bias + sum over i < width of weight_i x_{t - (width - 1) + i})
//
// x out (batch, seqlen, dim), weight (dim, width). Bound by reading x and writing out, once each
// but for the few tokens before a tile. Where channels are whole vectors a thread takes one through
// a tile of tokens (conv_channels.cuh); where tokens are, a warp a stretch of them
// (conv_tokens.cuh); what is neither goes by elements, along whichever lies closer together. All
// add in one order, so that the bits are the same.
#include "cuda/causal_conv1d.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cuda/conv_channels.cuh"
#include "cuda/conv_tokens.cuh"
#include "cuda/launch.cuh"
#include "numerics/elements.h"

namespace tilescan::cuda {
namespace {

constexpr const char* kName = "causal_conv1d_forward";
constexpr int64_t kMostBlocks = INT32_MAX;

// Final states of a channel of a row. They may be the initial states' memory: each column is made
// of a later one, or of tokens.
constexpr int kStateThreads = 128;
__global__ void __launch_bounds__(kStateThreads)
    ConvFinalStatesKernel(const __grid_constant__ CausalConv1dForwardProblem problem) {
  const CausalConv1dForwardOperands& operands = problem.operands;
  const int64_t item = int64_t{blockIdx.x} * kStateThreads + threadIdx.x;
  const int64_t row_idx = item / problem.sizes.dim;
  const int64_t channel = item % problem.sizes.dim;
  if (row_idx >= problem.sizes.num_seqs) return;
  ConvRow row = {row_idx, row_idx, 0, problem.sizes.seqlen};
  if (operands.cu_seqlens.present()) {
    row.batch_idx = 0;
    row.first_token = ConvBoundary(problem, row_idx);
    row.end_token = max(row.first_token, ConvBoundary(problem, row_idx + 1));
  }
  const ConvHistory history = HistoryBefore(problem, row, row.end_token);
  const TensorView& to = operands.final_states;
  for (int column = 0; column + 1 < static_cast<int>(problem.sizes.width); ++column) {
    const ConvSource& source = history.Of(problem.sizes.width, column);
    const int64_t to_offset =
        row_idx * to.strides[0] + channel * to.strides[1] + column * to.strides[2];
    if (source.kind == ConvSource::Kind::kZero) {
      StoreElement(0.0f, to, to_offset);
      continue;
    }
    const TensorView& from =
        source.kind == ConvSource::Kind::kToken ? operands.x : operands.initial_states;
    numerics::CopyElement(from, SourceOffset(from, row, source, channel), to, to_offset);
  }
}

// ---- launch ----

bool HasSequences(const CausalConv1dForwardProblem& problem) {
  return problem.operands.seq_idx.present() || problem.operands.cu_seqlens.present();
}

bool HasVectorsOf(const CausalConv1dForwardProblem& problem, int dim) {
  return HasVectors(problem.operands.x, dim) && HasVectors(problem.operands.out, dim);
}

int64_t CountBlocks(int64_t num_items, int64_t items_per_block) {
  return (num_items + items_per_block - 1) / items_per_block;
}

LaunchShape ShapeOf(int64_t num_items, int64_t items_per_block, unsigned num_threads,
                    cudaStream_t stream) {
  return {.grid = dim3(static_cast<unsigned>(CountBlocks(num_items, items_per_block))),
          .num_threads = num_threads,
          .stream = stream};
}

// Tiles as long as leaves every multiprocessor some warps to hide what a thread waits for; longer
// ones read less twice and load fewer weights.
template <typename Piece>
ConvTiles TilesOf(const CausalConv1dForwardProblem& problem, int32_t num_multiprocessors) {
  constexpr int64_t kMostTokens = 64;
  constexpr int64_t kFewestTokens = 8;
  static_assert(kFewestTokens % Piece::kAhead == 0);
  constexpr int64_t kThreadsWanted = 1024;  // of a multiprocessor
  ConvTiles tiles = {problem.sizes.dim / Piece::kSize, 0, kMostTokens};
  while (true) {
    tiles.num_tiles = CountBlocks(problem.sizes.seqlen, tiles.tile_tokens);
    const int64_t num_threads = problem.sizes.batch * tiles.num_tiles * tiles.num_pieces;
    if (tiles.tile_tokens == kFewestTokens || num_threads >= num_multiprocessors * kThreadsWanted) {
      return tiles;
    }
    tiles.tile_tokens /= 2;
  }
}

// What to do with a kernel.
struct LoadConv {
  template <typename Piece, bool kHasSequences>
  Status Channels() const {
    return LoadKernel(kName, ConvChannelsKernel<Piece, kHasSequences>);
  }
  template <typename T>
  Status Tokens() const {
    return LoadKernel(kName, ConvTokensKernel<T>);
  }
};

struct EnqueueConv {
  const CausalConv1dForwardProblem& problem;
  int32_t num_multiprocessors;
  cudaStream_t stream;

  template <typename Piece, bool kHasSequences>
  Status Channels() const {
    const ConvTiles tiles = TilesOf<Piece>(problem, num_multiprocessors);
    const int64_t num_items = problem.sizes.batch * tiles.num_tiles * tiles.num_pieces;
    return LaunchKernel(kName, ConvChannelsKernel<Piece, kHasSequences>,
                        ShapeOf(num_items, kConvThreads, kConvThreads, stream), problem, tiles);
  }
  template <typename T>
  Status Tokens() const {
    const int64_t stretches = CountBlocks(problem.sizes.seqlen / Bits16<T>::kSize, kVectorsOfWarp);
    const int64_t num_items = problem.sizes.batch * problem.sizes.dim * stretches;
    return LaunchKernel(kName, ConvTokensKernel<T>,
                        ShapeOf(num_items, kTokenWarps, kTokenWarps * kWarpLanes, stream), problem,
                        stretches);
  }
};

// The kernel for vectors of x's dtype.
template <typename Action>
Status WithVectors(const CausalConv1dForwardProblem& problem, const Action& action) {
  switch (problem.operands.x.dtype) {
    case DType::kFloat32:
      return action.template operator()<float>();
    case DType::kBFloat16:
      return action.template operator()<__nv_bfloat16>();
    default:
      return action.template operator()<__half>();
  }
}

Status EnqueueOut(const EnqueueConv& enqueue) {
  const CausalConv1dForwardProblem& problem = enqueue.problem;
  if (HasVectorsOf(problem, 2)) {
    return WithVectors(problem, [&]<typename T>() {
      using Piece = ConvVector<T>;
      return HasSequences(problem) ? enqueue.template Channels<Piece, true>()
                                   : enqueue.template Channels<Piece, false>();
    });
  }
  if (HasVectorsOf(problem, 1) && !HasSequences(problem)) {
    return WithVectors(problem, [&]<typename T>() { return enqueue.template Tokens<T>(); });
  }
  if (!IsAlongTokens(problem)) return enqueue.Channels<ElementPiece, true>();
  const int64_t num_items = problem.sizes.batch * problem.sizes.dim * problem.sizes.seqlen;
  return LaunchKernel(kName, ConvGatherKernel,
                      ShapeOf(num_items, kGatherThreads, kGatherThreads, enqueue.stream), problem);
}

template <typename T>
Status LoadVectors() {
  const LoadConv load;
  TILESCAN_RETURN_IF_ERROR((load.Channels<ConvVector<T>, true>()));
  TILESCAN_RETURN_IF_ERROR((load.Channels<ConvVector<T>, false>()));
  return load.Tokens<T>();
}

}  // namespace

std::string ReasonAgainstCausalConv1d(const CausalConv1dForwardProblem& problem) {
  const CausalConv1dForwardSizes& sizes = problem.sizes;
  const int64_t num_rows = std::max<int64_t>({sizes.batch, sizes.num_seqs, 1});
  // Of tokens side by side a block takes 4 rows' channels, however short these are.
  if (sizes.dim > kMostBlocks / num_rows) return "there are more than 2^31 channels of all rows";
  // Of the kernel with most blocks otherwise, by elements.
  const int64_t per_row =
      CountBlocks(sizes.dim * std::max<int64_t>(sizes.seqlen, 1), kStateThreads);
  return per_row > kMostBlocks / num_rows ? "out has more than 2^38 elements" : "";
}

Status PrepareCausalConv1dForward() {
  TILESCAN_RETURN_IF_ERROR(LoadVectors<float>());
  TILESCAN_RETURN_IF_ERROR(LoadVectors<__nv_bfloat16>());
  TILESCAN_RETURN_IF_ERROR(LoadVectors<__half>());
  TILESCAN_RETURN_IF_ERROR((LoadConv{}.Channels<ElementPiece, true>()));
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, ConvGatherKernel));
  return LoadKernel(kName, ConvFinalStatesKernel);
}

Status RunCausalConv1dForward(const CausalConv1dForwardProblem& given, int32_t num_multiprocessors,
                              cudaStream_t stream) {
  CausalConv1dForwardProblem problem = given;
  if (problem.operands.cu_seqlens.present() && problem.sizes.num_seqs == 0) {
    // Then there is no token, or cu_seqlens is wrong, and no state to read.
    problem.operands.cu_seqlens = problem.operands.initial_states = TensorView();
  }
  if (problem.sizes.batch > 0 && problem.sizes.seqlen > 0) {
    TILESCAN_RETURN_IF_ERROR(EnqueueOut({problem, num_multiprocessors, stream}));
  }
  const int64_t num_channels = problem.sizes.num_seqs * problem.sizes.dim;
  if (!problem.operands.final_states.present() || num_channels == 0) return Status();
  // Behind the rest: they may be the initial states' memory.
  return LaunchKernel(kName, ConvFinalStatesKernel,
                      ShapeOf(num_channels, kStateThreads, kStateThreads, stream), problem);
}

}  // namespace tilescan::cuda
