// A Mamba-2 layer between its projections, as plain data. Shapes and meaning of each operand:
// include/tilescan/layer.h.
#ifndef TILESCAN_CORE_SPLIT_CONV1D_SCAN_H_
#define TILESCAN_CORE_SPLIT_CONV1D_SCAN_H_

#include <cstdint>
#include <limits>

#include "core/tensor_view.h"

namespace tilescan {

struct SplitConv1dScanForwardOperands {
  TensorView zxbcdt, conv1d_weight, A, conv1d_bias, dt_bias, D, rmsnorm_weight;
  TensorView initial_states, conv_initial_states, seq_idx, cu_seqlens;
  TensorView out, final_states, conv_final_states;
  int64_t ngroups = 1;
  int64_t group_size = 0;  // as given: 0 stands for dim / ngroups
  float rmsnorm_eps = 1e-5f;
  bool norm_before_gate = false;
  bool has_silu = false;
  bool dt_softplus = false;
  float dt_limit_min = 0.0f;
  float dt_limit_max = std::numeric_limits<float>::infinity();
};

struct SplitConv1dScanForwardSizes {
  int64_t batch = 0;
  int64_t seqlen = 0;
  int64_t nheads = 0;
  int64_t headdim = 0;
  int64_t ngroups = 1;
  int64_t dstate = 0;
  int64_t width = 0;
  int64_t group_size = 0;  // divides dim
  int64_t num_seqs = 0;    // batch, or the number of packed sequences

  int64_t dim() const { return nheads * headdim; }
  int64_t conv_dim() const { return dim() + 2 * ngroups * dstate; }
};

struct SplitConv1dScanForwardProblem {
  SplitConv1dScanForwardSizes sizes;
  SplitConv1dScanForwardOperands operands;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_SPLIT_CONV1D_SCAN_H_
