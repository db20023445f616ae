// What the recurrence takes at one token, in float64.
#ifndef TILESCAN_REFERENCE_TOKEN_H_
#define TILESCAN_REFERENCE_TOKEN_H_

#include <cstdint>

#include "core/tensor_view.h"
#include "core/workspace.h"
#include "numerics/elements.h"
#include "numerics/processed_dt.h"
#include "reference/state_matrix.h"

namespace tilescan::reference {

// What one token brings to one head.
struct Token {
  double dt = 0.0;            // the processed step
  double A = 0.0;             // of the head
  const double* x = nullptr;  // (headdim)
  const double* B = nullptr;  // (dstate), of the head's group
  const double* C = nullptr;  // (dstate), of the head's group
  const double* D = nullptr;  // (headdim), or null
  const double* z = nullptr;  // (headdim), or null
};

// Memory for what a Token points to.
struct TokenBuffers {
  double* x = nullptr;  // (headdim)
  double* B = nullptr;  // (dstate)
  double* C = nullptr;  // (dstate)
  double* D = nullptr;  // (headdim)
  double* z = nullptr;  // (headdim)
};

inline TokenBuffers CarveTokenBuffers(int64_t headdim, int64_t dstate, Carver& carver) {
  TokenBuffers buffers;
  buffers.x = carver.Take<double>(headdim);
  buffers.B = carver.Take<double>(dstate);
  buffers.C = carver.Take<double>(dstate);
  buffers.D = carver.Take<double>(headdim);
  buffers.z = carver.Take<double>(headdim);
  return buffers;
}

// Which token of which head.
struct TokenPosition {
  int64_t batch_idx = 0;
  int64_t token = 0;
  int64_t head_idx = 0;
  int64_t group_idx = 0;
};

// The offset of element (batch_idx, token, idx, 0) of an operand.
inline int64_t TokenOffset(const TensorView& view, const TokenPosition& position, int64_t idx) {
  return position.batch_idx * view.strides[0] + position.token * view.strides[1] +
         idx * view.strides[2];
}

// Reads a token of either operation: operands name and shape these alike. The result points into
// buffers.
template <typename Operands>
Token LoadToken(const Operands& operands, const TokenPosition& position,
                const TokenBuffers& buffers) {
  const int64_t head_idx = position.head_idx;
  double dt_bias = 0.0;
  if (operands.dt_bias.present()) {
    dt_bias = numerics::LoadDouble(operands.dt_bias, head_idx * operands.dt_bias.strides[0]);
  }
  const double dt = numerics::LoadDouble(operands.dt, TokenOffset(operands.dt, position, head_idx));

  Token token;
  token.dt = numerics::ProcessedDt(
      dt, dt_bias, {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max});
  token.A = numerics::LoadDouble(operands.A, head_idx * operands.A.strides[0]);
  LoadVector(operands.x, TokenOffset(operands.x, position, head_idx), buffers.x);
  LoadVector(operands.B, TokenOffset(operands.B, position, position.group_idx), buffers.B);
  LoadVector(operands.C, TokenOffset(operands.C, position, position.group_idx), buffers.C);
  token.x = buffers.x;
  token.B = buffers.B;
  token.C = buffers.C;
  if (operands.D.present()) {
    LoadD(operands.D, head_idx, operands.x.shape[3], buffers.D);
    token.D = buffers.D;
  }
  if (operands.z.present()) {
    LoadVector(operands.z, TokenOffset(operands.z, position, head_idx), buffers.z);
    token.z = buffers.z;
  }
  return token;
}

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_TOKEN_H_
