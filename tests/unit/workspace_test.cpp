// Counting and carving a workspace are the same code, and must give the same size.
#include "core/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescan {
namespace {

struct Buffers {
  float* floats;
  double* doubles;
  char* bytes;
};

Buffers TakeBuffers(Carver* carver) {
  Buffers buffers;
  buffers.floats = carver->Take<float>(37);
  buffers.doubles = carver->Take<double>(5);
  buffers.bytes = carver->Take<char>(1);
  return buffers;
}

TEST(Carver, CountsWithoutMemory) {
  Carver carver;
  const Buffers buffers = TakeBuffers(&carver);
  EXPECT_EQ(buffers.floats, nullptr);
  EXPECT_EQ(buffers.bytes, nullptr);
  // 148 bytes in 3 lines of 64, 40 in 1, 1 in 1; and room to align the start.
  EXPECT_EQ(carver.used_bytes(), 5u * 64);
  EXPECT_EQ(carver.required_bytes(), 5u * 64 + 63);
}

TEST(Carver, NeedsNothingForNothing) {
  Carver carver;
  EXPECT_EQ(carver.required_bytes(), 0u);
  carver.Take<float>(0);
  EXPECT_EQ(carver.required_bytes(), 0u);
}

// A size that no machine has stays one, whatever is counted behind it.
TEST(Carver, TooMuchStaysTooMuch) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const auto& [count, times] : {std::pair<int64_t, int64_t>{kLarge, 1 << 10},
                                     {kLarge, kLarge},
                                     {int64_t{1} << 62, 4},
                                     {(int64_t{1} << 62) + 1, 1}}) {
    Carver carver;
    EXPECT_EQ(carver.Take<float>(count, times), nullptr);
    EXPECT_GT(carver.required_bytes(), Carver::kMostBytes);
    carver.Take<float>(1);
    EXPECT_GT(carver.required_bytes(), Carver::kMostBytes);
  }
}

TEST(Carver, CountsProducts) {
  Carver carver;
  carver.Take<float>(16, 3);
  EXPECT_EQ(carver.used_bytes(), 3u * 64);
}

TEST(Carver, CarvesWhatItCountedAtAnyAlignment) {
  Carver counted;
  TakeBuffers(&counted);
  for (size_t shift = 0; shift < Carver::kAlignment; ++shift) {
    std::vector<std::byte> memory(counted.required_bytes() + shift);
    std::byte* const workspace = memory.data() + shift;
    Carver carver(workspace);
    const Buffers buffers = TakeBuffers(&carver);
    EXPECT_EQ(carver.used_bytes(), counted.used_bytes());
    for (const void* buffer :
         {static_cast<void*>(buffers.floats), static_cast<void*>(buffers.doubles),
          static_cast<void*>(buffers.bytes)}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % Carver::kAlignment, 0u);
    }
    EXPECT_GE(reinterpret_cast<std::byte*>(buffers.floats), workspace);
    EXPECT_LE(reinterpret_cast<std::byte*>(buffers.bytes + 1),
              workspace + counted.required_bytes());
    EXPECT_GE(reinterpret_cast<std::byte*>(buffers.doubles),
              reinterpret_cast<std::byte*>(buffers.floats + 37));
    EXPECT_GE(reinterpret_cast<std::byte*>(buffers.bytes),
              reinterpret_cast<std::byte*>(buffers.doubles + 5));
  }
}

}  // namespace
}  // namespace tilescan
