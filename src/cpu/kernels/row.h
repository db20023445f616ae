// A row of an operand: elements of one token along headdim or dstate.
#ifndef TILESCAN_CPU_KERNELS_ROW_H_
#define TILESCAN_CPU_KERNELS_ROW_H_

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tilescan::cpu {

// Rows of one operand that follow each other along the tokens (or along headdim, for states).
struct Rows {
  std::byte* data = nullptr;  // the first element of the first row; null: the operand is absent
  DType dtype = DType::kFloat32;
  int64_t row_stride = 0;      // in elements
  int64_t element_stride = 1;  // in elements

  std::byte* At(int64_t row_idx) const { return data + row_idx * row_stride * ElementBytes(dtype); }
};

// The rows of neighbouring heads.
struct HeadRows {
  Rows first;               // of the first head; no data: the operand is absent
  int64_t head_stride = 0;  // in elements
  int64_t num_heads = 0;

  std::byte* At(int64_t row_idx, int64_t idx) const {
    return first.At(row_idx) + idx * head_stride * ElementBytes(first.dtype);
  }
};

// Asks for a row of all the heads ahead of its use: rows lie too far apart for the processor's own
// prefetchers.
inline void Prefetch(const HeadRows& rows, int64_t row_idx, int64_t num_elements) {
  constexpr int64_t kLineBytes = 64;
  const int64_t row_bytes =
      num_elements * rows.first.element_stride * ElementBytes(rows.first.dtype);
  for (int64_t idx = 0; idx < rows.num_heads; ++idx) {
    const std::byte* row = rows.At(row_idx, idx);
    for (int64_t offset = 0; offset < row_bytes; offset += kLineBytes) {
      __builtin_prefetch(row + offset);
    }
  }
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_ROW_H_
