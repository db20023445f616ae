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
  // The rows' elements from one on.
  Rows From(int64_t element_idx) const {
    Rows rows = *this;
    rows.data += element_idx * element_stride * ElementBytes(dtype);
    return rows;
  }
};

enum PrefetchPurpose { kToRead, kToWrite, kToReadLater };

// Asks for a row ahead of its use; for a later one only into the second-level cache: rows lie too
// far apart for the processor's own prefetchers. Not for elements that lie apart themselves, each
// on a line of its own. Inlined at once: GCC 12 takes a call that only prefetches for one without
// effect, and drops it.
template <PrefetchPurpose kPurpose = kToRead>
[[gnu::always_inline]] inline void PrefetchRow(const Rows& rows, int64_t row_idx,
                                               int64_t num_elements) {
  constexpr int64_t kLineBytes = 64;
  if (rows.element_stride != 1) return;
  const int64_t row_bytes = num_elements * ElementBytes(rows.dtype);
  const std::byte* row = rows.At(row_idx);
  for (int64_t offset = 0; offset < row_bytes; offset += kLineBytes) {
    __builtin_prefetch(row + offset, kPurpose == kToWrite, kPurpose == kToReadLater ? 2 : 3);
  }
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_ROW_H_
