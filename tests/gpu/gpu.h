// The GPU that tests run on, and memory there.
#ifndef TILESCAN_TESTS_GPU_GPU_H_
#define TILESCAN_TESTS_GPU_GPU_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "testing/device_memory.h"
#include "tilescan/tilescan.hpp"

namespace tilescan::testing {

// Why this machine's GPU cannot run the test; empty if it can. compute_capability: that it must
// have; 0: any that the library can use.
inline std::string ReasonAgainstGpu(int compute_capability = 0) {
  const nlohmann::json cuda = nlohmann::json::parse(Info()).at("cuda");
  if (!cuda.at("available").get<bool>()) return cuda.at("reason");
  const auto found = cuda.at("compute_capability").get<int>();
  if (compute_capability == 0 || found == compute_capability) return "";
  return "the GPU has compute capability " + std::to_string(found) + ", expected " +
         std::to_string(compute_capability);
}

// Its tests are skipped where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = ReasonAgainstGpu();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

// The same for instructions of Hopper.
class HopperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = ReasonAgainstGpu(90);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

// Numbers on the GPU, for kernels of tests.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& numbers)
      : size_(numbers.size()), memory_(AllocateOnDevice(num_bytes(), std::byte{0})) {
    CopyToDevice(memory_.get(), numbers.data(), num_bytes());
  }
  explicit DeviceArray(size_t size) : DeviceArray(std::vector<T>(size)) {}

  T* data() const { return reinterpret_cast<T*>(memory_.get()); }

  // What is there once all work is done; an error of that work is thrown here.
  std::vector<T> Download() const {
    SynchronizeDevice();
    std::vector<T> numbers(size_);
    CopyFromDevice(numbers.data(), memory_.get(), num_bytes());
    return numbers;
  }

 private:
  size_t num_bytes() const { return size_ * sizeof(T); }

  size_t size_;
  DeviceMemory memory_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTS_GPU_GPU_H_
