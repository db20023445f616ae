// The causal convolution of a block of channels, or of a stretch of tokens of one channel, over
// scratch buffers; one table of steps per instruction set.
//
//   out_t = activation(bias + sum over i < width of weight_i x_{t - (width - 1) + i})
//
// Channels that lie side by side are computed together, token after token, from a ring of the last
// rows in fp32; tokens that lie side by side, one channel after another. An element is computed by
// the same operations either way, so bits do not depend on the layout, nor on blocks.
#ifndef TILESCAN_CPU_KERNELS_CONV_WINDOW_H_
#define TILESCAN_CPU_KERNELS_CONV_WINDOW_H_

#include <cstdint>
#include <span>

#include "core/causal_conv1d.h"
#include "core/workspace.h"
#include "cpu/kernels/row.h"

namespace tilescan::cpu {

// At a time: rows of the ring, weights and bias stay in the first-level cache.
inline constexpr int64_t kConvBlockChannels = 512;
inline constexpr int64_t kConvBlockTokens = 512;  // of one channel
// Behind what a block uses, for whole vectors of any instruction set.
inline constexpr int64_t kConvPadding = 64;
inline constexpr int64_t kConvRow = kConvBlockChannels + kConvPadding;

// One thread's scratch.
struct ConvBuffers {
  float* weight =
      nullptr;            // (width, kConvRow): the block's weights, row i those of x_{t - ... + i}
  float* bias = nullptr;  // (kConvRow)
  float* ring = nullptr;  // (width, kConvRow): x of the last tokens
  float* out = nullptr;   // (kConvRow)
  float* span = nullptr;  // (kMostConvHistory + kConvBlockTokens + kConvPadding): x along tokens

  static ConvBuffers Take(Carver& carver);
};

// The values before the next token, and room for its own: rows of ConvBuffers::ring.
struct ConvRing {
  float* rows = nullptr;
  int width = 0;
  int next = 0;  // where the next token's x goes

  // idx in [0, width), the oldest first; width - 1 is the next token.
  float* Row(int idx) const { return rows + (next + 1 + idx) % width * kConvRow; }
};

struct ConvWindowSteps {
  const char* instruction_set;
  int64_t hwy_target;  // the bit of hwy::SupportedTargets()
  bool is_baseline;    // runs on every machine
  int64_t num_lanes;   // of fp32

  // A row to fp32, and back.
  void (*load_row)(const Rows& from, int64_t count, float* to);
  void (*store_row)(const float* from, int64_t count, const Rows& to);

  // out of a block's `count` channels of tokens that follow each other along the rows of x and out.
  // The ring moves on.
  void (*convolve_tokens)(const ConvBuffers& buffers, bool has_silu, int64_t count,
                          int64_t num_tokens, const Rows& x, const Rows& out, ConvRing* ring);

  // The same of `count` tokens of one channel: rows x and out run along them. span holds the
  // width - 1 values before, and those before the next token behind it. weight: (width).
  void (*convolve_span)(const ConvBuffers& buffers, bool has_silu, const float* weight, int width,
                        float bias, int64_t count, const Rows& x, const Rows& out);
};

// One for each instruction set compiled in, weakest first.
std::span<const ConvWindowSteps> AllConvWindowSteps();

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_CONV_WINDOW_H_
