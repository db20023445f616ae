// Memory for operands and workspaces.
#ifndef TILESCAN_CLI_BUFFER_H_
#define TILESCAN_CLI_BUFFER_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace tilescan::cli {

// Zeroed, and so in memory before a run is timed.
class Buffer {
 public:
  // Throws std::bad_alloc.
  explicit Buffer(size_t num_bytes) : num_bytes_(num_bytes) {
    // A cache line, and the widest vector.
    constexpr size_t kAlignment = 64;
    const size_t rounded_bytes = (num_bytes / kAlignment + 1) * kAlignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded_bytes)));
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, rounded_bytes);
  }

  std::byte* data() const { return memory_.get(); }
  size_t num_bytes() const { return num_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  size_t num_bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_BUFFER_H_
