#include "testing/host_tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "numerics/elements.h"

namespace tilescan::testing {
namespace {

constexpr std::byte kPoison{0xff};
constexpr std::align_val_t kAlignment{64};

// Room for a stray store on either side. AddressSanitizer sees such a store by itself, if there is
// no room for it.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kGuardBytes = 0;
#else
constexpr size_t kGuardBytes = 256;
#endif

// Strides for a layout, and how far below and above the first element others lie.
struct Placement {
  std::array<int64_t, TILESCAN_MAX_NDIM> strides{};
  int64_t lowest = 0;
  int64_t highest = 0;
};

int64_t GapAround(Layout layout, int dim, int ndim) {
  // Odd numbers, so that alignment of one row says nothing about the next.
  if (layout == Layout::kSpread) return dim == ndim - 1 ? 3 : 5;
  if (layout == Layout::kPitched && dim == ndim - 1) return 7;
  return 0;
}

// The dimension whose stride is the step-th smallest.
int DimOfStep(Layout layout, int step, int ndim) {
  if (layout == Layout::kTransposed) return step;
  const bool is_exchanged = layout == Layout::kExchanged && ndim >= 2 && step < 2;
  return is_exchanged ? ndim - 2 + step : ndim - 1 - step;
}

Placement Place(const std::vector<int64_t>& shape, Layout layout) {
  Placement placement;
  const int ndim = static_cast<int>(shape.size());
  int64_t stride = layout == Layout::kSpread ? 3 : 1;
  for (int step = 0; step < ndim; ++step) {
    const int dim = DimOfStep(layout, step, ndim);
    const size_t at = static_cast<size_t>(dim);
    placement.strides[at] = layout == Layout::kReversed ? -stride : stride;
    const int64_t reach = std::max<int64_t>(shape[at] - 1, 0) * placement.strides[at];
    (reach < 0 ? placement.lowest : placement.highest) += reach;
    stride = stride * std::max<int64_t>(shape[at], 1) + GapAround(layout, dim, ndim);
  }
  return placement;
}

}  // namespace

const char* LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kCompact:
      return "compact";
    case Layout::kShifted:
      return "shifted";
    case Layout::kPitched:
      return "pitched";
    case Layout::kSpread:
      return "spread";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kExchanged:
      return "exchanged";
    case Layout::kReversed:
      return "reversed";
  }
  return "unknown";
}

tilescan_dtype ToPublic(DType dtype) {
  switch (dtype) {
    case DType::kNone:
      return tilescan_dtype{};
    case DType::kFloat64:
      return tilescan_float64();
    case DType::kFloat32:
      return tilescan_float32();
    case DType::kBFloat16:
      return tilescan_bfloat16();
    case DType::kFloat16:
      return tilescan_float16();
    case DType::kInt64:
      return tilescan_int64();
    case DType::kInt32:
      return tilescan_int32();
    case DType::kUInt8:
      return tilescan_uint8();
    case DType::kBool:
      return tilescan_bool();
  }
  return tilescan_dtype{};
}

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape, Layout layout)
    : shape_(std::move(shape)) {
  const Placement placement = Place(shape_, layout);
  view_.dtype = dtype;
  view_.ndim = static_cast<int>(shape_.size());
  std::copy(shape_.begin(), shape_.end(), view_.shape.begin());
  view_.strides = placement.strides;
  is_row_major_ = layout == Layout::kCompact || layout == Layout::kShifted;
  const int64_t shift = layout == Layout::kShifted ? 1 : 0;
  const int64_t num_spanned = placement.highest - placement.lowest + 1 + shift;
  memory_bytes_ = 2 * kGuardBytes + static_cast<size_t>(num_spanned * ElementBytes(dtype));
  memory_.reset(static_cast<std::byte*>(::operator new(memory_bytes_, kAlignment)));
  std::fill_n(memory_.get(), memory_bytes_, kPoison);
  view_.data = memory_.get() + kGuardBytes + (shift - placement.lowest) * ElementBytes(dtype);
}

HostTensor HostTensor::Far(DType dtype, std::vector<int64_t> shape, size_t far_dim) {
  // Odd beyond 2^31, so that what is cut off to 32 bits is not 0 but somewhere else.
  constexpr int64_t kFarStride = (int64_t{1} << 31) + 4099;
  HostTensor tensor;
  tensor.shape_ = std::move(shape);
  TensorView& view = tensor.view_;
  view.dtype = dtype;
  view.ndim = static_cast<int>(tensor.shape_.size());
  int64_t stride = 1;
  int64_t num_spanned = 1;
  for (size_t dim = tensor.shape_.size(); dim-- > 0;) {
    view.shape[dim] = tensor.shape_[dim];
    view.strides[dim] = dim == far_dim ? kFarStride : stride;
    if (dim != far_dim) stride *= view.shape[dim];
    num_spanned += (view.shape[dim] - 1) * view.strides[dim];
  }
  const auto bytes = static_cast<size_t>(num_spanned * ElementBytes(dtype));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "cannot reserve %zu bytes of address space\n", bytes);
    std::abort();
  }
  tensor.memory_ = {static_cast<std::byte*>(memory), FreeMemory(bytes)};
  view.data = memory;
  return tensor;
}

void FreeMemory::operator()(std::byte* memory) const {
  if (mapped_bytes_ > 0) {
    munmap(memory, mapped_bytes_);
  } else {
    ::operator delete(memory, kAlignment);
  }
}

tilescan_tensor HostTensor::Describe() const {
  tilescan_tensor tensor{};
  if (!present()) return tensor;
  tensor.data = view_.data;
  tensor.dtype = ToPublic(view_.dtype);
  tensor.ndim = view_.ndim;
  std::copy(view_.shape.begin(), view_.shape.end(), tensor.shape);
  std::copy(view_.strides.begin(), view_.strides.end(), tensor.strides);
  return tensor;
}

int64_t HostTensor::OffsetOf(int64_t idx) const {
  if (is_row_major_) return idx;
  int64_t offset = 0;
  for (int dim = view_.ndim - 1; dim >= 0; --dim) {
    const size_t at = static_cast<size_t>(dim);
    offset += idx % view_.shape[at] * view_.strides[at];
    idx /= view_.shape[at];
  }
  return offset;
}

double HostTensor::Get(int64_t idx) const {
  const int64_t offset = OffsetOf(idx);
  switch (view_.dtype) {
    case DType::kInt64:
      return static_cast<double>(*view_.At<const int64_t>(offset));
    case DType::kInt32:
      return *view_.At<const int32_t>(offset);
    case DType::kUInt8:
    case DType::kBool:
      return *view_.At<const uint8_t>(offset);
    default:
      return numerics::LoadDouble(view_, offset);
  }
}

void HostTensor::Set(int64_t idx, double value) {
  const int64_t offset = OffsetOf(idx);
  switch (view_.dtype) {
    case DType::kInt64:
      *view_.At<int64_t>(offset) = static_cast<int64_t>(value);
      return;
    case DType::kInt32:
      *view_.At<int32_t>(offset) = static_cast<int32_t>(value);
      return;
    case DType::kUInt8:
    case DType::kBool:
      *view_.At<uint8_t>(offset) = static_cast<uint8_t>(value);
      return;
    default:
      numerics::StoreDouble(value, view_, offset);
  }
}

uint64_t HostTensor::Bits(int64_t idx) const {
  uint64_t bits = 0;
  std::memcpy(&bits, view_.AtBytes(OffsetOf(idx)), static_cast<size_t>(ElementBytes(dtype())));
  return bits;
}

void HostTensor::SetBits(int64_t idx, uint64_t bits) {
  std::memcpy(view_.AtBytes(OffsetOf(idx)), &bits, static_cast<size_t>(ElementBytes(dtype())));
}

void HostTensor::Assign(const Fill& fill) {
  for (int64_t idx = 0; idx < num_elements(); ++idx) Set(idx, fill(idx));
}

void HostTensor::Assign(const HostTensor& other) {
  for (int64_t idx = 0; idx < num_elements(); ++idx) {
    if (other.dtype() == dtype()) {
      SetBits(idx, other.Bits(idx));
    } else {
      Set(idx, other.Get(idx));
    }
  }
}

bool HostTensor::HasSameBits(const HostTensor& other) const {
  if (dtype() != other.dtype() || shape_ != other.shape_) return false;
  for (int64_t idx = 0; idx < num_elements(); ++idx) {
    if (Bits(idx) != other.Bits(idx)) return false;
  }
  return true;
}

bool HostTensor::SurroundingsIntact() const {
  if (!present() || memory_.get_deleter().is_mapped()) return true;
  const auto element_bytes = static_cast<size_t>(ElementBytes(dtype()));
  const auto is_poison = [](std::byte byte) { return byte == kPoison; };
  const auto start = static_cast<size_t>(static_cast<std::byte*>(view_.data) - memory_.get());
  const std::byte* end = memory_.get() + memory_bytes_;
  if (is_row_major_) {
    const std::byte* first = memory_.get() + start;
    return std::all_of<const std::byte*>(memory_.get(), first, is_poison) &&
           std::all_of(first + static_cast<size_t>(num_elements()) * element_bytes, end, is_poison);
  }
  std::vector<bool> is_element(memory_bytes_, false);
  for (int64_t idx = 0; idx < num_elements(); ++idx) {
    const size_t first = start + static_cast<size_t>(OffsetOf(idx)) * element_bytes;
    for (size_t byte = 0; byte < element_bytes; ++byte) is_element[first + byte] = true;
  }
  for (size_t byte = 0; byte < memory_bytes_; ++byte) {
    if (!is_element[byte] && !is_poison(memory_.get()[byte])) return false;
  }
  return true;
}

HostTensor Filled(DType dtype, std::vector<int64_t> shape, Layout layout, const Fill& fill) {
  if (!fill) return HostTensor();
  HostTensor tensor(dtype, std::move(shape), layout);
  tensor.Assign(fill);
  return tensor;
}

bool IsFloat(const HostTensor& tensor) { return numerics::IsFloat(tensor.dtype()); }

HostTensor WithLayout(const HostTensor& tensor, Layout layout) {
  if (!tensor.present()) return HostTensor();
  HostTensor copy(tensor.dtype(), tensor.shape(), layout);
  copy.Assign(tensor);
  return copy;
}

HostTensor WithDType(const HostTensor& tensor, DType dtype) {
  if (!tensor.present()) return HostTensor();
  HostTensor copy(dtype, tensor.shape());
  copy.Assign(tensor);
  return copy;
}

}  // namespace tilescan::testing
