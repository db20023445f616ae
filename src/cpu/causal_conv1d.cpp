#include "cpu/causal_conv1d.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/conv_history.h"
#include "core/sequences.h"
#include "cpu/thread_pool.h"
#include "numerics/elements.h"

namespace tilescan::cpu {
namespace {

int64_t ThreadBytes() {
  Carver counter;
  ConvBuffers::Take(counter);
  return static_cast<int64_t>(counter.used_bytes());
}

ConvRow RowOf(const CausalConv1dForwardProblem& problem, int64_t row_idx) {
  const ScanRow row = GetTokenRow(problem, row_idx);
  return {row.batch_idx, row.state_idx, row.first_token, row.first_token + row.num_tokens};
}

// How rows are cut into pieces of work. Bits do not depend on it.
struct Cut {
  int64_t block_channels;
  int64_t block_tokens;
  int64_t num_channel_blocks;

  explicit Cut(const CausalConv1dForwardProblem& problem)
      : block_channels(IsAlongTokens(problem) ? 1 : kConvBlockChannels),
        block_tokens(kConvBlockTokens),
        num_channel_blocks((problem.sizes.dim + block_channels - 1) / block_channels) {}

  int64_t CountPieces(const ConvRow& row) const {
    const int64_t num_tokens = row.end_token - row.first_token;
    return num_channel_blocks * ((num_tokens + block_tokens - 1) / block_tokens);
  }
};

struct Piece {
  ConvRow row;
  int64_t first_token, end_token;
  int64_t first_channel, num_channels;
};

// One thread's share of the pieces.
class Worker {
 public:
  Worker(const CausalConv1dForwardProblem& problem, const ConvWindowSteps& steps,
         const ConvBuffers& buffers)
      : problem_(problem),
        steps_(steps),
        buffers_(buffers),
        is_along_tokens_(IsAlongTokens(problem)),
        width_(static_cast<int>(problem.sizes.width)) {}

  void Convolve(const Piece& piece) {
    const CausalConv1dForwardOperands& operands = problem_.operands;
    if (piece.first_channel != loaded_channel_) {
      LoadChannels(operands, steps_, piece.first_channel, piece.num_channels, buffers_);
      loaded_channel_ = piece.first_channel;
    }
    if (IsPadding(problem_, piece.row, piece.first_token, piece.end_token)) {
      const Rows out =
          ChannelRows(operands.out, piece.row.batch_idx, piece.first_token, piece.first_channel);
      StoreZeros(steps_, out, piece.num_channels, piece.end_token - piece.first_token, buffers_);
      return;
    }
    const ConvHistory history = HistoryBefore(problem_, piece.row, piece.first_token);
    ring_ = {buffers_.ring, width_, 0};
    for (int idx = 0; idx < width_ - 1; ++idx) LoadSource(piece, history.Of(width_, idx), idx);

    ScanRow tokens;
    tokens.batch_idx = piece.row.batch_idx;
    tokens.first_token = piece.first_token;
    tokens.num_tokens = piece.end_token - piece.first_token;
    RunCursor cursor(operands.seq_idx, tokens, history.last_id);
    TokenRun run;
    while (cursor.NextRun(&run)) ConvolveRun(piece, run);
  }

 private:
  // One of the values before the next token.
  void StoreBefore(const float* values, int64_t count, int idx) {
    if (is_along_tokens_) {
      buffers_.span[idx] = values[0];
    } else {
      std::copy_n(values, count, ring_.Row(idx));
    }
  }

  void LoadSource(const Piece& piece, const ConvSource& source, int idx) {
    const int64_t count = piece.num_channels;
    Rows from;
    if (source.kind == ConvSource::Kind::kToken) {
      from = ChannelRows(problem_.operands.x, piece.row.batch_idx, source.idx, piece.first_channel);
    } else if (source.kind == ConvSource::Kind::kInitialState) {
      const TensorView& states = problem_.operands.initial_states;
      from = {
          states.AtBytes(piece.row.state_idx * states.strides[0] +
                         piece.first_channel * states.strides[1] + source.idx * states.strides[2]),
          states.dtype, 0, states.strides[1]};
    }
    if (from.data == nullptr) {
      std::fill_n(buffers_.out, count, 0.0f);
    } else {
      steps_.load_row(from, count, buffers_.out);
    }
    StoreBefore(buffers_.out, count, idx);
  }

  void ConvolveRun(const Piece& piece, const TokenRun& run) {
    const CausalConv1dForwardOperands& operands = problem_.operands;
    const int64_t count = piece.num_channels;
    Rows x = ChannelRows(operands.x, piece.row.batch_idx, run.first_token, piece.first_channel);
    Rows out = ChannelRows(operands.out, piece.row.batch_idx, run.first_token, piece.first_channel);
    if (run.is_padding) {
      StoreZeros(steps_, out, count, run.num_tokens, buffers_);
      return;
    }
    if (run.starts_from_zero) {
      std::fill_n(buffers_.out, count, 0.0f);
      for (int idx = 0; idx < width_ - 1; ++idx) StoreBefore(buffers_.out, count, idx);
    }
    if (!is_along_tokens_) {
      steps_.convolve_tokens(buffers_, operands.has_silu, count, run.num_tokens, x, out, &ring_);
      return;
    }
    float weight[kMostConvWidth];
    for (int idx = 0; idx < width_; ++idx) weight[idx] = buffers_.weight[idx * kConvRow];
    x.element_stride = x.row_stride;
    out.element_stride = out.row_stride;
    steps_.convolve_span(buffers_, operands.has_silu, weight, width_, buffers_.bias[0],
                         run.num_tokens, x, out);
  }

  const CausalConv1dForwardProblem& problem_;
  const ConvWindowSteps& steps_;
  const ConvBuffers& buffers_;
  bool is_along_tokens_;
  int width_;
  ConvRing ring_;
  int64_t loaded_channel_ = -1;
};

// Calls visit(piece) for pieces [first, end) of all rows.
template <typename Visit>
void ForEachPiece(const CausalConv1dForwardProblem& problem, const Cut& cut, int64_t first,
                  int64_t end, const Visit& visit) {
  int64_t before = 0;  // pieces of the rows before
  for (int64_t row_idx = 0; row_idx < NumScanRows(problem) && before < end; ++row_idx) {
    const ConvRow row = RowOf(problem, row_idx);
    const int64_t num_pieces = cut.CountPieces(row);
    const int64_t num_token_blocks = num_pieces / cut.num_channel_blocks;
    for (int64_t idx = std::max<int64_t>(first - before, 0);
         idx < std::min(num_pieces, end - before); ++idx) {
      Piece piece;
      piece.row = row;
      // Blocks of tokens one after another: the channels' weights stay.
      piece.first_token = row.first_token + idx % num_token_blocks * cut.block_tokens;
      piece.end_token = std::min(piece.first_token + cut.block_tokens, row.end_token);
      piece.first_channel = idx / num_token_blocks * cut.block_channels;
      piece.num_channels = std::min(cut.block_channels, problem.sizes.dim - piece.first_channel);
      visit(piece);
    }
    before += num_pieces;
  }
}

// A channel's final states. They may be the initial states' memory: each column is made of a later
// one, or of tokens.
void StoreFinalStates(const CausalConv1dForwardProblem& problem, const ConvRow& row,
                      const ConvHistory& history, int64_t channel) {
  const TensorView& to = problem.operands.final_states;
  const TensorView& states = problem.operands.initial_states;
  const TensorView& x = problem.operands.x;
  const int64_t offset = row.state_idx * to.strides[0] + channel * to.strides[1];
  for (int64_t column = 0; column < problem.sizes.width - 1; ++column) {
    const ConvSource& source = history.Of(problem.sizes.width, column);
    const int64_t to_offset = offset + column * to.strides[2];
    if (source.kind == ConvSource::Kind::kZero) {
      numerics::StoreFloat(0.0f, to, to_offset);
    } else if (source.kind == ConvSource::Kind::kToken) {
      numerics::CopyElement(
          x, row.batch_idx * x.strides[0] + source.idx * x.strides[1] + channel * x.strides[2], to,
          to_offset);
    } else {
      numerics::CopyElement(states,
                            row.state_idx * states.strides[0] + channel * states.strides[1] +
                                source.idx * states.strides[2],
                            to, to_offset);
    }
  }
}

void StoreAllFinalStates(const CausalConv1dForwardProblem& problem, int64_t first, int64_t end) {
  const int64_t dim = problem.sizes.dim;
  while (first < end) {
    const ConvRow row = RowOf(problem, first / dim);
    const ConvHistory history = HistoryBefore(problem, row, row.end_token);
    const int64_t end_of_row = std::min(end, (first / dim + 1) * dim);
    for (; first < end_of_row; ++first) StoreFinalStates(problem, row, history, first % dim);
  }
}

// Of elements of x, some 2 ns each.
constexpr int64_t kLeastShare = 1 << 14;
// Of channels of a sequence, whose final states lie apart.
constexpr int64_t kLeastShareOfChannels = 1 << 10;

}  // namespace

size_t CausalConv1dWorkspaceBytes(const Schedule& schedule) {
  Carver counter;
  counter.Take<std::byte>(ThreadBytes(), schedule.num_threads);
  return counter.required_bytes();
}

ConvBuffers ConvBuffersOfThread(void* workspace, int32_t thread_idx) {
  Carver carver(workspace);
  carver.Take<std::byte>(ThreadBytes() * thread_idx);
  return ConvBuffers::Take(carver);
}

void StoreZeros(const ConvWindowSteps& steps, const Rows& out, int64_t count, int64_t num_tokens,
                const ConvBuffers& buffers) {
  std::fill_n(buffers.out, count, 0.0f);
  for (int64_t token = 0; token < num_tokens; ++token) {
    Rows row = out;
    row.data = out.At(token);
    steps.store_row(buffers.out, count, row);
  }
}

void CausalConv1dForward(const CausalConv1dForwardProblem& problem, const ConvWindowSteps& steps,
                         const Launch& launch) {
  const CausalConv1dForwardSizes& sizes = problem.sizes;
  const int64_t num_elements = sizes.batch * sizes.seqlen * sizes.dim;
  const int32_t num_threads = NumWorthwhile(num_elements, kLeastShare, launch.schedule.num_threads);
  const Cut cut(problem);
  int64_t num_pieces = 0;
  for (int64_t row_idx = 0; row_idx < NumScanRows(problem); ++row_idx) {
    num_pieces += cut.CountPieces(RowOf(problem, row_idx));
  }
  ParallelFor(launch.schedule.executor, num_threads, [&](int32_t thread_idx) {
    const ConvBuffers buffers = ConvBuffersOfThread(launch.workspace, thread_idx);
    Worker worker(problem, steps, buffers);
    ForEachPiece(problem, cut, num_pieces * thread_idx / num_threads,
                 num_pieces * (thread_idx + 1) / num_threads,
                 [&worker](const Piece& piece) { worker.Convolve(piece); });
  });
  if (!problem.operands.final_states.present()) return;
  // Only now: they may be the initial states' memory.
  const int64_t num_channels = NumScanRows(problem) * sizes.dim;
  const int32_t num_storing =
      NumWorthwhile(num_channels, kLeastShareOfChannels, launch.schedule.num_threads);
  ParallelFor(launch.schedule.executor, num_storing, [&](int32_t thread_idx) {
    StoreAllFinalStates(problem, num_channels * thread_idx / num_storing,
                        num_channels * (thread_idx + 1) / num_storing);
  });
}

}  // namespace tilescan::cpu
