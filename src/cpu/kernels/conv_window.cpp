// The steps of conv_window.h, compiled once for each instruction set.
#include "cpu/kernels/conv_window.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/conv_window.cpp"
#include "cpu/kernels/highway_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

inline constexpr int64_t kConvLanes = hn::MaxLanes(FloatTag());
static_assert(kConvLanes <= kConvPadding);

void LoadConvRow(const Rows& from, int64_t count, float* to) {
  LoadRow(from.data, from.dtype, from.element_stride, count, to);
}

void StoreConvRow(const float* from, int64_t count, const Rows& to) {
  StoreRow(from, count, to.dtype, to.data, to.element_stride);
}

HWY_INLINE FloatVector Activated(FloatVector sum, bool has_silu) {
  return has_silu ? Silu(FloatTag(), sum) : sum;
}

// The token whose x is in the ring's last row.
template <int kWidth>
HWY_INLINE void ConvolveRow(const ConvBuffers& buffers, bool has_silu, int64_t count,
                            const ConvRing& ring) {
  const FloatTag d;
  const float* rows[kWidth];
  for (int idx = 0; idx < kWidth; ++idx) rows[idx] = ring.Row(idx);
  for (int64_t channel = 0; channel < count; channel += kConvLanes) {
    FloatVector sum = hn::Load(d, buffers.bias + channel);
    for (int idx = 0; idx < kWidth; ++idx) {
      sum = hn::MulAdd(hn::Load(d, buffers.weight + idx * kConvRow + channel),
                       hn::Load(d, rows[idx] + channel), sum);
    }
    hn::Store(Activated(sum, has_silu), d, buffers.out + channel);
  }
}

template <int kWidth>
void ConvolveTokensOf(const ConvBuffers& buffers, bool has_silu, int64_t count, int64_t num_tokens,
                      const Rows& x, const Rows& out, ConvRing* ring) {
  constexpr int64_t kTokensAhead = 8;
  for (int64_t token = 0; token < num_tokens; ++token) {
    if (token + kTokensAhead < num_tokens) PrefetchRow(x, token + kTokensAhead, count);
    LoadRow(x.At(token), x.dtype, x.element_stride, count, ring->Row(kWidth - 1));
    ConvolveRow<kWidth>(buffers, has_silu, count, *ring);
    StoreRow(buffers.out, count, out.dtype, out.At(token), out.element_stride);
    ring->next = (ring->next + 1) % kWidth;
  }
}

void ConvolveTokens(const ConvBuffers& buffers, bool has_silu, int64_t count, int64_t num_tokens,
                    const Rows& x, const Rows& out, ConvRing* ring) {
  switch (ring->width) {
    case 2:
      return ConvolveTokensOf<2>(buffers, has_silu, count, num_tokens, x, out, ring);
    case 3:
      return ConvolveTokensOf<3>(buffers, has_silu, count, num_tokens, x, out, ring);
    default:
      return ConvolveTokensOf<4>(buffers, has_silu, count, num_tokens, x, out, ring);
  }
}

void ConvolveSpan(const ConvBuffers& buffers, bool has_silu, const float* weight, int width,
                  float bias, int64_t count, const Rows& x, const Rows& out) {
  const FloatTag d;
  float* span = buffers.span;
  LoadRow(x.data, x.dtype, x.element_stride, count, span + width - 1);
  for (int64_t token = 0; token < count; token += kConvLanes) {
    FloatVector sum = hn::Set(d, bias);
    for (int idx = 0; idx < width; ++idx) {
      sum = hn::MulAdd(hn::Set(d, weight[idx]), hn::LoadU(d, span + token + idx), sum);
    }
    hn::Store(Activated(sum, has_silu), d, buffers.out + token);
  }
  StoreRow(buffers.out, count, out.dtype, out.data, out.element_stride);
  std::copy(span + count, span + count + width - 1, span);
}

// Constant data: a function here would be compiled for an instruction set the machine may not have.
constexpr ConvWindowSteps kConvWindowSteps = {
    .instruction_set = kInstructionSet,
    .hwy_target = HWY_TARGET,
    .is_baseline = kIsBaseline,
    .num_lanes = kConvLanes,
    .load_row = &LoadConvRow,
    .store_row = &StoreConvRow,
    .convolve_tokens = &ConvolveTokens,
    .convolve_span = &ConvolveSpan,
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilescan::cpu {

ConvBuffers ConvBuffers::Take(Carver& carver) {
  static_assert(kConvBlockTokens <= kConvBlockChannels);  // out holds either
  ConvBuffers buffers;
  buffers.weight = carver.Take<float>(kMostConvWidth * kConvRow);
  buffers.bias = carver.Take<float>(kConvRow);
  buffers.ring = carver.Take<float>(kMostConvWidth * kConvRow);
  buffers.out = carver.Take<float>(kConvRow);
  buffers.span = carver.Take<float>(kMostConvHistory + kConvBlockTokens + kConvPadding);
  return buffers;
}

std::span<const ConvWindowSteps> AllConvWindowSteps() {
#define TILESCAN_ROW(target_namespace) target_namespace::kConvWindowSteps,
  static constexpr ConvWindowSteps kAll[] = {TILESCAN_FOR_EACH_INSTRUCTION_SET(TILESCAN_ROW)};
#undef TILESCAN_ROW
  return kAll;
}

}  // namespace tilescan::cpu
#endif  // HWY_ONCE
