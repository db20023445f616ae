// Reading and writing vectors and states of operands as float64. Reading is exact; writing rounds
// once.
#ifndef TILESCAN_REFERENCE_STATE_MATRIX_H_
#define TILESCAN_REFERENCE_STATE_MATRIX_H_

#include <cstdint>

#include "core/tensor_view.h"
#include "numerics/elements.h"

namespace tilescan::reference {

// The view's last dimension, beginning at an offset.
inline void LoadVector(const TensorView& view, int64_t offset, double* vector) {
  const int64_t stride = view.strides[view.ndim - 1];
  for (int64_t idx = 0; idx < view.shape[view.ndim - 1]; ++idx) {
    vector[idx] = numerics::LoadDouble(view, offset + idx * stride);
  }
}

inline void StoreVector(const double* vector, const TensorView& view, int64_t offset) {
  const int64_t stride = view.strides[view.ndim - 1];
  for (int64_t idx = 0; idx < view.shape[view.ndim - 1]; ++idx) {
    numerics::StoreDouble(vector[idx], view, offset + idx * stride);
  }
}

// The view's last two dimensions, (headdim, dstate), beginning at an offset; compact in memory.
inline void LoadState(const TensorView& view, int64_t offset, double* state) {
  const int64_t headdim = view.shape[view.ndim - 2];
  const int64_t dstate = view.shape[view.ndim - 1];
  for (int64_t channel = 0; channel < headdim; ++channel) {
    LoadVector(view, offset + channel * view.strides[view.ndim - 2], state + channel * dstate);
  }
}

inline void StoreState(const double* state, const TensorView& view, int64_t offset) {
  const int64_t headdim = view.shape[view.ndim - 2];
  const int64_t dstate = view.shape[view.ndim - 1];
  for (int64_t channel = 0; channel < headdim; ++channel) {
    StoreVector(state + channel * dstate, view, offset + channel * view.strides[view.ndim - 2]);
  }
}

// D of a head, of either shape, for each channel.
inline void LoadD(const TensorView& D, int64_t head_idx, int64_t headdim, double* per_channel) {
  const int64_t channel_stride = D.ndim == 2 ? D.strides[1] : 0;
  for (int64_t channel = 0; channel < headdim; ++channel) {
    const int64_t offset = head_idx * D.strides[0] + channel * channel_stride;
    per_channel[channel] = numerics::LoadDouble(D, offset);
  }
}

// Copies a state between operands, bit for bit where they have one dtype.
inline void CopyState(const TensorView& from, int64_t from_offset, const TensorView& to,
                      int64_t to_offset) {
  for (int64_t channel = 0; channel < to.shape[to.ndim - 2]; ++channel) {
    for (int64_t idx = 0; idx < to.shape[to.ndim - 1]; ++idx) {
      const int64_t from_idx =
          channel * from.strides[from.ndim - 2] + idx * from.strides[from.ndim - 1];
      const int64_t to_idx = channel * to.strides[to.ndim - 2] + idx * to.strides[to.ndim - 1];
      numerics::CopyElement(from, from_offset + from_idx, to, to_offset + to_idx);
    }
  }
}

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_STATE_MATRIX_H_
