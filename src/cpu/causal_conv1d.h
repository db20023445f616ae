// The causal convolution and its decoding step, with rows, channels and tokens dealt out to the
// threads.
#ifndef TILESCAN_CPU_CAUSAL_CONV1D_H_
#define TILESCAN_CPU_CAUSAL_CONV1D_H_

#include <cstddef>
#include <cstdint>

#include "core/causal_conv1d.h"
#include "cpu/kernels/conv_window.h"
#include "plan/variant.h"

namespace tilescan::cpu {

// Of either operation.
size_t CausalConv1dWorkspaceBytes(const Schedule& schedule);

// The scratch of a thread, in a workspace of that size.
ConvBuffers ConvBuffersOfThread(void* workspace, int32_t thread_idx);

// Weights and bias of channels [first_channel, first_channel + count) of either operation into
// the buffers' rows.
template <typename Operands>
void LoadChannels(const Operands& operands, const ConvWindowSteps& steps, int64_t first_channel,
                  int64_t count, const ConvBuffers& buffers) {
  const TensorView& weight = operands.weight;
  for (int64_t idx = 0; idx < weight.shape[1]; ++idx) {
    const int64_t offset = first_channel * weight.strides[0] + idx * weight.strides[1];
    steps.load_row({weight.AtBytes(offset), weight.dtype, 0, weight.strides[0]}, count,
                   buffers.weight + idx * kConvRow);
  }
  const TensorView& bias = operands.bias;
  if (bias.present()) {
    steps.load_row({bias.AtBytes(first_channel * bias.strides[0]), bias.dtype, 0, bias.strides[0]},
                   count, buffers.bias);
  } else {
    for (int64_t idx = 0; idx < count; ++idx) buffers.bias[idx] = 0.0f;
  }
}

// Rows along the tokens of x or out, (batch, seqlen, dim), from a token and a channel on.
inline Rows ChannelRows(const TensorView& view, int64_t batch_idx, int64_t token, int64_t channel) {
  return {view.AtBytes(batch_idx * view.strides[0] + token * view.strides[1] +
                       channel * view.strides[2]),
          view.dtype, view.strides[1], view.strides[2]};
}

// out of some channels is 0 for tokens that follow each other.
void StoreZeros(const ConvWindowSteps& steps, const Rows& out, int64_t count, int64_t num_tokens,
                const ConvBuffers& buffers);

// CheckIndices() has passed.
void CausalConv1dForward(const CausalConv1dForwardProblem& problem, const ConvWindowSteps& steps,
                         const Launch& launch);
void CausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, const ConvWindowSteps& steps,
                        const Launch& launch);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_CAUSAL_CONV1D_H_
