// The causal convolution, over whole sequences and by steps, as plain data. Shapes and meaning of
// each operand: include/tilescan/layer.h.
#ifndef TILESCAN_CORE_CAUSAL_CONV1D_H_
#define TILESCAN_CORE_CAUSAL_CONV1D_H_

#include <cstdint>
#include <cstdlib>

#include "core/tensor_view.h"

namespace tilescan {

inline constexpr int kLeastConvWidth = 2;
inline constexpr int kMostConvWidth = 4;
// Tokens before the one at hand that a window holds, at most.
inline constexpr int kMostConvHistory = kMostConvWidth - 1;

struct CausalConv1dForwardOperands {
  TensorView x, weight, bias, initial_states, seq_idx, cu_seqlens;
  TensorView out, final_states;
  bool has_silu = false;
};

struct CausalConv1dForwardSizes {
  int64_t batch = 0;
  int64_t seqlen = 0;
  int64_t dim = 0;
  int64_t width = 0;
  int64_t num_seqs = 0;  // batch, or the number of packed sequences
};

struct CausalConv1dForwardProblem {
  CausalConv1dForwardSizes sizes;
  CausalConv1dForwardOperands operands;
};

// Whether tokens lie closer to each other than channels, and are best taken together.
inline bool IsAlongTokens(const CausalConv1dForwardProblem& problem) {
  const TensorView& x = problem.operands.x;
  if (problem.sizes.seqlen <= 1) return false;
  return problem.sizes.dim == 1 || std::abs(x.strides[1]) < std::abs(x.strides[2]);
}

struct CausalConv1dUpdateOperands {
  TensorView conv_state, x, weight, bias, conv_state_indices, cache_seqlens, out;
  bool has_silu = false;
};

struct CausalConv1dUpdateSizes {
  int64_t batch = 0;
  int64_t num_tokens = 1;  // T
  int64_t num_slots = 0;
  int64_t dim = 0;
  int64_t width = 0;
  int64_t state_len = 0;
};

// In normal form: x and out have their token dimension (of size 1 and stride 0 where the caller
// gave none).
struct CausalConv1dUpdateProblem {
  CausalConv1dUpdateSizes sizes;
  CausalConv1dUpdateOperands operands;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_CAUSAL_CONV1D_H_
