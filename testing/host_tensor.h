// An operand that owns its memory, in any layout, with poison around and between its elements.
#ifndef TILESCAN_TESTING_HOST_TENSOR_H_
#define TILESCAN_TESTING_HOST_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/tensor_view.h"
#include "testing/fill.h"
#include "tilescan/tilescan.h"

namespace tilescan::testing {

// How elements lie in memory.
enum class Layout {
  kCompact,     // row-major, on a 64-byte boundary
  kShifted,     // row-major, one element behind a 64-byte boundary
  kPitched,     // the last dimension dense, gaps between its rows
  kSpread,      // gaps in every dimension
  kTransposed,  // the first dimension dense
  kExchanged,   // the last two dimensions exchanged: the last but one dense
  kReversed,    // every stride negative
};

// "compact", "shifted", ...
const char* LayoutName(Layout layout);

// Frees what a HostTensor allocated.
class FreeMemory {
 public:
  // 0: from the heap, else so many bytes mapped.
  explicit FreeMemory(size_t mapped_bytes = 0) : mapped_bytes_(mapped_bytes) {}
  void operator()(std::byte* memory) const;
  bool is_mapped() const { return mapped_bytes_ > 0; }

 private:
  size_t mapped_bytes_;
};

// Movable only: what it describes points into it.
class HostTensor {
 public:
  // Absent.
  HostTensor() = default;
  // All its memory is poison: every byte 0xff, which is a NaN in every float dtype and -1 in the
  // signed ones.
  HostTensor(DType dtype, std::vector<int64_t> shape, Layout layout = Layout::kCompact);
  // The elements of far_dim lie more than 2^31 elements from each other, in address space that is
  // reserved and of which only the pages touched exist. There is no poison: it holds zeros.
  static HostTensor Far(DType dtype, std::vector<int64_t> shape, size_t far_dim);

  bool present() const { return view_.present(); }
  DType dtype() const { return view_.dtype; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t num_elements() const { return present() ? view_.num_elements() : 0; }

  // Views of it, as the public interface and as the library's layers take them.
  tilescan_tensor Describe() const;
  const TensorView& view() const { return view_; }

  // Elements by row-major index. Integers pass through double exactly up to 2^53.
  double Get(int64_t idx) const;
  void Set(int64_t idx, double value);
  // The element's bits, in the low end.
  uint64_t Bits(int64_t idx) const;
  void SetBits(int64_t idx, uint64_t bits);

  void Assign(const Fill& fill);
  // The values of another, rounded to this dtype, the bits where the dtypes agree.
  void Assign(const HostTensor& other);

  // Whether all elements have the same bits as those of another of the same dtype and shape.
  bool HasSameBits(const HostTensor& other) const;
  // Whether every byte that belongs to no element is still poison. Nothing is looked at when far.
  bool SurroundingsIntact() const;

 private:
  // In elements, from the element at index (0, 0, ...).
  int64_t OffsetOf(int64_t idx) const;

  TensorView view_;
  std::vector<int64_t> shape_;
  bool is_row_major_ = false;  // and dense: an element's index is its offset
  std::unique_ptr<std::byte, FreeMemory> memory_;
  size_t memory_bytes_ = 0;
};

// A filled tensor; absent where there is nothing to fill it with.
HostTensor Filled(DType dtype, std::vector<int64_t> shape, Layout layout, const Fill& fill);
template <typename Value>
HostTensor Listed(DType dtype, std::vector<int64_t> shape, Layout layout,
                  const std::vector<Value>& values) {
  if (values.empty()) return HostTensor();
  return Filled(dtype, std::move(shape), layout, [&values](int64_t idx) {
    return static_cast<double>(values[static_cast<size_t>(idx)]);
  });
}

// A copy in another layout, or another dtype.
HostTensor WithLayout(const HostTensor& tensor, Layout layout);
HostTensor WithDType(const HostTensor& tensor, DType dtype);

// Whether it is there and of a float dtype.
bool IsFloat(const HostTensor& tensor);

tilescan_dtype ToPublic(DType dtype);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_HOST_TENSOR_H_
