// Counts a workspace and carves it, by the same code: a kernel lists its buffers once, in a
// function over a Carver, and runs that function with no memory to learn the size.
#ifndef TILESCAN_CORE_WORKSPACE_H_
#define TILESCAN_CORE_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

namespace tilescan {

class Carver {
 public:
  // A cache line, and the widest vector.
  static constexpr size_t kAlignment = 64;
  // More than any machine addresses. Whoever takes more has used_bytes() and required_bytes() above
  // it, and must not carve.
  static constexpr size_t kMostBytes = size_t{1} << 48;

  // Counts only.
  Carver() = default;
  // Carves memory of any alignment.
  explicit Carver(void* workspace)
      : base_((reinterpret_cast<uintptr_t>(workspace) + kAlignment - 1) / kAlignment * kAlignment) {
  }

  // A buffer of count * times elements; null when only counting.
  template <typename T>
  T* Take(int64_t count, int64_t times = 1) {
    const size_t offset = used_bytes_;
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, times, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(T), &bytes) || bytes > kMostBytes ||
        used_bytes_ > kMostBytes) {
      used_bytes_ = 2 * kMostBytes;
      return nullptr;
    }
    used_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return base_ == 0 ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }

  size_t used_bytes() const { return used_bytes_; }
  // What the caller must provide: room to align the start is included.
  size_t required_bytes() const { return used_bytes_ == 0 ? 0 : used_bytes_ + kAlignment - 1; }

 private:
  uintptr_t base_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_WORKSPACE_H_
