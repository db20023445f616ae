// The decoding step of the causal convolution: batch rows and blocks of channels dealt out to the
// threads.
#include <algorithm>

#include "core/conv_places.h"
#include "core/sequences.h"
#include "cpu/causal_conv1d.h"
#include "cpu/thread_pool.h"

namespace tilescan::cpu {
namespace {

// A block of channels of one batch row, and its slot.
class Block {
 public:
  Block(const CausalConv1dUpdateProblem& problem, const ConvWindowSteps& steps,
        const ConvBuffers& buffers, int64_t batch_idx, int64_t first_channel)
      : problem_(problem),
        steps_(steps),
        buffers_(buffers),
        batch_idx_(batch_idx),
        first_channel_(first_channel),
        count_(std::min(kConvBlockChannels, problem.sizes.dim - first_channel)),
        width_(static_cast<int>(problem.sizes.width)),
        places_(problem, problem.operands.cache_seqlens.present()
                             ? IndexAt(problem.operands.cache_seqlens, batch_idx)
                             : 0) {}

  void Update() {
    const CausalConv1dUpdateOperands& operands = problem_.operands;
    const TensorView& slots = operands.conv_state_indices;
    slot_ = slots.present() ? IndexAt(slots, batch_idx_) : batch_idx_;
    Rows out = ChannelRows(operands.out, batch_idx_, 0, first_channel_);
    if (slot_ < 0) {
      StoreZeros(steps_, out, count_, problem_.sizes.num_tokens, buffers_);
      return;
    }
    LoadChannels(operands, steps_, first_channel_, count_, buffers_);
    ring_ = {buffers_.ring, width_, 0};
    for (int idx = 0; idx < width_ - 1; ++idx) {
      steps_.load_row(Column(places_.Before(width_ - 1 - idx)), count_, ring_.Row(idx));
    }
    ShiftState();
    Rows x = ChannelRows(operands.x, batch_idx_, 0, first_channel_);
    for (int64_t token = 0; token < problem_.sizes.num_tokens; ++token) {
      Rows x_row = x;
      x_row.data = x.At(token);
      Rows out_row = out;
      out_row.data = out.At(token);
      steps_.convolve_tokens(buffers_, operands.has_silu, count_, 1, x_row, out_row, &ring_);
      const int64_t place = places_.Of(token);
      // The token's x is the last of those before the next one.
      if (place >= 0) steps_.store_row(ring_.Row(width_ - 2), count_, Column(place));
    }
  }

 private:
  // The block's row of one place of the state.
  Rows Column(int64_t place) const {
    const TensorView& state = problem_.operands.conv_state;
    return {state.AtBytes(slot_ * state.strides[0] + first_channel_ * state.strides[1] +
                          place * state.strides[2]),
            state.dtype, 0, state.strides[1]};
  }

  // Makes room for the tokens behind what stays.
  void ShiftState() {
    for (int64_t place = 0; place < places_.NumShifted(); ++place) {
      steps_.load_row(Column(place + places_.num_tokens), count_, buffers_.out);
      steps_.store_row(buffers_.out, count_, Column(place));
    }
  }

  const CausalConv1dUpdateProblem& problem_;
  const ConvWindowSteps& steps_;
  const ConvBuffers& buffers_;
  int64_t batch_idx_;
  int64_t first_channel_;
  int64_t count_;
  int width_;
  ConvPlaces places_;
  int64_t slot_ = 0;
  ConvRing ring_;
};

// Of elements of x: some 10 ns each, with the state.
constexpr int64_t kLeastShare = 1 << 10;

}  // namespace

void CausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, const ConvWindowSteps& steps,
                        const Launch& launch) {
  const CausalConv1dUpdateSizes& sizes = problem.sizes;
  // A row that is shifted is moved as a whole.
  const bool is_shifted = !problem.operands.cache_seqlens.present();
  const int64_t row_work =
      is_shifted ? std::max(sizes.num_tokens, sizes.state_len) : sizes.num_tokens;
  const int32_t num_threads =
      NumWorthwhile(sizes.batch * row_work * sizes.dim, kLeastShare, launch.schedule.num_threads);
  const int64_t blocks_per_row = (problem.sizes.dim + kConvBlockChannels - 1) / kConvBlockChannels;
  const int64_t num_blocks = problem.sizes.batch * blocks_per_row;
  ParallelFor(launch.schedule.executor, num_threads, [&](int32_t thread_idx) {
    const ConvBuffers buffers = ConvBuffersOfThread(launch.workspace, thread_idx);
    const int64_t end = num_blocks * (thread_idx + 1) / num_threads;
    for (int64_t idx = num_blocks * thread_idx / num_threads; idx < end; ++idx) {
      Block(problem, steps, buffers, idx / blocks_per_row,
            idx % blocks_per_row * kConvBlockChannels)
          .Update();
    }
  });
}

}  // namespace tilescan::cpu
