// hopper/ptx/wgmma.h against the CPU: each N, B in both layouts at an offset into its tile, with
// and without what D held before.
#include <gtest/gtest.h>

#include <cuda/ptx>

#include <cstdint>
#include <vector>

#include "hopper/ptx/arithmetic.h"
#include "hopper/ptx/shared_memory.h"
#include "hopper/ptx/wgmma.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/small_matrix.h"

namespace tilescan::testing {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = 64;   // of A and D
constexpr int kInner = 16;  // of A and B
constexpr int kTileColumns = 64;

// The tile that B is a part of, as it lies in shared memory: rows of 64 elements, tiles of 64
// columns behind each other. AlongRows: B^T, of which the 16 begin at column 32. AcrossRows: B
// begins at row 16, and where N is 32 at column 32.
template <int kN, bool kAcross>
struct Tile {
  static constexpr int kTileRows = kAcross ? 32 : kN;
  static constexpr int kTiles = kAcross ? (kN + kTileColumns - 1) / kTileColumns : 1;
  static constexpr int kFirstRow = kAcross ? 16 : 0;
  static constexpr int kFirstColumn = kAcross ? (kN == 32 ? 32 : 0) : 32;
  static constexpr int kTileBytes = kTileRows * kTileColumns * 2;
  static constexpr int kSize = kTiles * kTileRows * kTileColumns;

  // Where element (inner, column) of B is, in elements, without the swizzle.
  static constexpr int Position(int inner, int column) {
    const int row = kAcross ? kFirstRow + inner : column;
    const int in_row = kAcross ? kFirstColumn + column : kFirstColumn + inner;
    return (in_row / kTileColumns * kTileRows + row) * kTileColumns + in_row % kTileColumns;
  }
};

// kSums: as many registers as D has, or more.
template <int kN, bool kAcross, bool kAccumulate, int kSums>
__device__ void Multiply(float (&d)[kSums], const uint32_t (&a)[4], hopper::ptx::Operand b) {
  if constexpr (kN == 32) hopper::ptx::WgmmaN32<kAccumulate, kAcross>(d, a, b);
  if constexpr (kN == 64) hopper::ptx::WgmmaN64<kAccumulate, kAcross>(d, a, b);
  if constexpr (kN == 128) hopper::ptx::WgmmaN128<kAccumulate, kAcross>(d, a, b);
}

template <int kN, bool kAcross, bool kAccumulate, int kSums>
__global__ void __launch_bounds__(kThreads)
    WgmmaKernel(const float* A, const float* tile, float* D) {
  using B = Tile<kN, kAcross>;
  __shared__ __align__(1024) uint16_t shared[B::kSize];
  for (int idx = threadIdx.x; idx < B::kSize; idx += kThreads) {
    const int row = idx / kTileColumns;
    const int piece = idx % kTileColumns / 8;
    const int to = row * kTileColumns + (piece ^ row % 8) * 8 + idx % 8;
    shared[to] = static_cast<uint16_t>(hopper::ptx::RoundPair(tile[idx], 0.0f));
  }
  ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  __syncthreads();

  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const int col = threadIdx.x % 4 * 2;
  const auto A_pair = [&](int i, int j) {
    return hopper::ptx::RoundPair(A[i * kInner + j], A[i * kInner + j + 1]);
  };
  const uint32_t a[4] = {A_pair(row, col), A_pair(row + 8, col), A_pair(row, 8 + col),
                         A_pair(row + 8, 8 + col)};
  float d[kSums];
  const auto visit = [&](auto&& action) {
#pragma unroll
    for (int idx = 0; idx < kSums; ++idx) {
      const int i = row + idx % 4 / 2 * 8;
      const int j = idx / 4 * 8 + col + idx % 2;
      action(d[idx], i * (kSums * 2) + j);
    }
  };
  visit([&](float& sum, int at) { sum = D[at]; });
  const uint32_t address = hopper::ptx::SharedAddress(shared);
  const hopper::ptx::Operand b = kAcross ? hopper::ptx::AcrossRows(address, B::kTileBytes) +
                                               (B::kFirstRow * kTileColumns + B::kFirstColumn) * 2
                                         : hopper::ptx::AlongRows(address) + B::kFirstColumn * 2;
  hopper::ptx::WgmmaFence();
  Multiply<kN, kAcross, kAccumulate>(d, a, b);
  hopper::ptx::WgmmaCommitGroup();
  hopper::ptx::WgmmaWaitGroup<0>();
  hopper::ptx::PinRegisters(d);
  visit([&](float& sum, int at) { D[at] = sum; });
}

// D has kSums * 2 columns, of which the first kN are meant.
template <int kN, bool kAcross, bool kAccumulate, int kSums = kN / 2>
void CheckWgmma() {
  using B = Tile<kN, kAcross>;
  constexpr size_t kColumns = kSums * 2;
  const std::vector<float> A = SmallIntegers(kRows * kInner, 11);
  const std::vector<float> tile = SmallIntegers(B::kSize, 12);
  const std::vector<float> before = SmallIntegers(kRows * kColumns, 13);
  std::vector<float> B_in_D(kInner * kColumns);  // 0 in further columns
  std::vector<float> expected = before;
  for (int column = 0; column < kN; ++column) {
    for (int inner = 0; inner < kInner; ++inner) {
      B_in_D[inner * kColumns + column] = tile[B::Position(inner, column)];
    }
    for (size_t row = 0; row < kRows && !kAccumulate; ++row) {
      expected[row * kColumns + column] = 0.0f;
    }
  }
  const DeviceArray<float> A_there(A), tile_there(tile), D_there(before);
  WgmmaKernel<kN, kAcross, kAccumulate, kSums>
      <<<1, kThreads>>>(A_there.data(), tile_there.data(), D_there.data());
  EXPECT_EQ(D_there.Download(), MultiplyAdd({kRows, kColumns, kInner}, A, B_in_D, expected));
}

using PtxWgmma = HopperTest;

TEST_F(PtxWgmma, N32AlongRows) {
  CheckWgmma<32, false, false>();
  CheckWgmma<32, false, true>();
}
TEST_F(PtxWgmma, N32AcrossRows) {
  CheckWgmma<32, true, false>();
  CheckWgmma<32, true, true>();
}
TEST_F(PtxWgmma, N32LeavesFurtherSumsAlone) {
  CheckWgmma<32, false, false, 32>();
  CheckWgmma<32, true, true, 32>();
}
TEST_F(PtxWgmma, N64AlongRows) {
  CheckWgmma<64, false, false>();
  CheckWgmma<64, false, true>();
}
TEST_F(PtxWgmma, N64AcrossRows) {
  CheckWgmma<64, true, false>();
  CheckWgmma<64, true, true>();
}
TEST_F(PtxWgmma, N128AlongRows) {
  CheckWgmma<128, false, false>();
  CheckWgmma<128, false, true>();
}
TEST_F(PtxWgmma, N128AcrossRows) {
  CheckWgmma<128, true, false>();
  CheckWgmma<128, true, true>();
}

}  // namespace
}  // namespace tilescan::testing
