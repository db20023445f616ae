// The operands of a scan as the kernels' rows: where a head or group begins, by its indices.
#ifndef TILESCAN_CPU_SCAN_OPERANDS_H_
#define TILESCAN_CPU_SCAN_OPERANDS_H_

#include <cstdint>

#include "core/scan_forward.h"
#include "cpu/kernels/row.h"
#include "cpu/kernels/scan_chunk.h"
#include "numerics/elements.h"

namespace tilescan::cpu {

// Rows along the tokens of (batch, seqlen, nheads or ngroups, headdim or dstate), from one token
// on; no data if the operand is absent.
inline Rows TokenRows(const TensorView& view, int64_t batch_idx, int64_t token, int64_t idx) {
  Rows rows;
  if (!view.present()) return rows;
  rows.data =
      view.AtBytes(batch_idx * view.strides[0] + token * view.strides[1] + idx * view.strides[2]);
  rows.dtype = view.dtype;
  rows.row_stride = view.strides[1];
  rows.element_stride = view.ndim > 3 ? view.strides[3] : 1;
  return rows;
}

// Rows along headdim of a state: `prefix` is the offset in elements of (nheads, headdim, dstate),
// the last three dimensions of the view.
inline Rows StateRows(const TensorView& view, int64_t prefix, int64_t head_idx) {
  const int head_dim = view.ndim - 3;
  Rows rows;
  rows.data = view.AtBytes(prefix + head_idx * view.strides[head_dim]);
  rows.dtype = view.dtype;
  rows.row_stride = view.strides[head_dim + 1];
  rows.element_stride = view.strides[head_dim + 2];
  return rows;
}

// A head's parameters. D_row is scratch of padded_headdim elements, filled if D is per channel.
inline HeadParameters GetHeadParameters(const ScanForwardProblem& problem, int64_t head_idx,
                                        float* D_row) {
  const ScanForwardOperands& operands = problem.operands;
  HeadParameters parameters;
  parameters.A = numerics::LoadFloat(operands.A, head_idx * operands.A.strides[0]);
  const TensorView& D = operands.D;
  if (D.present() && D.ndim == 1) {
    parameters.D = numerics::LoadFloat(D, head_idx * D.strides[0]);
  } else if (D.present()) {
    for (int64_t p = 0; p < problem.sizes.headdim; ++p) {
      D_row[p] = numerics::LoadFloat(D, head_idx * D.strides[0] + p * D.strides[1]);
    }
    parameters.D_row = D_row;
  }
  if (operands.dt_bias.present()) {
    const TensorView& dt_bias = operands.dt_bias;
    parameters.dt_bias = numerics::LoadFloat(dt_bias, head_idx * dt_bias.strides[0]);
  }
  parameters.dt_softplus = operands.dt_softplus;
  parameters.dt_limit_min = operands.dt_limit_min;
  parameters.dt_limit_max = operands.dt_limit_max;
  return parameters;
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_OPERANDS_H_
