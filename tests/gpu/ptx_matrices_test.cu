// hopper/ptx/mma.h and hopper/ptx/shared_memory.h against the CPU: where each element lies.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hopper/ptx/arithmetic.h"
#include "hopper/ptx/mma.h"
#include "hopper/ptx/shared_memory.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/small_matrix.h"

namespace tilescan::testing {
namespace {

constexpr int kLanes = 32;

// A (16, 16), B (16, 8), D (16, 8), row-major.
__global__ void MmaKernel(const float* A, const float* B, float* D) {
  const int row = threadIdx.x / 4;
  const int col = threadIdx.x % 4 * 2;
  const auto A_pair = [&](int i, int j) {
    return hopper::ptx::RoundPair(A[i * 16 + j], A[i * 16 + j + 1]);
  };
  const auto B_pair = [&](int i, int j) {
    return hopper::ptx::RoundPair(B[i * 8 + j], B[(i + 1) * 8 + j]);
  };
  const uint32_t a[4] = {A_pair(row, col), A_pair(row + 8, col), A_pair(row, 8 + col),
                         A_pair(row + 8, 8 + col)};
  float d[4] = {D[row * 8 + col], D[row * 8 + col + 1], D[(row + 8) * 8 + col],
                D[(row + 8) * 8 + col + 1]};
  hopper::ptx::MmaN8(d, a, B_pair(col, row), B_pair(8 + col, row));
  D[row * 8 + col] = d[0];
  D[row * 8 + col + 1] = d[1];
  D[(row + 8) * 8 + col] = d[2];
  D[(row + 8) * 8 + col + 1] = d[3];
}

// Four matrices of 8 x 8 elements of 16 bits; what each lane loads, (32, 4).
__global__ void LoadKernel(const uint16_t* matrices, uint32_t* loaded) {
  __shared__ __align__(16) uint16_t shared[4 * 64];
  for (int idx = threadIdx.x; idx < 4 * 64; idx += kLanes) shared[idx] = matrices[idx];
  __syncwarp();
  uint32_t to[4];
  hopper::ptx::LoadMatricesTransposed(to, hopper::ptx::SharedAddress(&shared[threadIdx.x * 8]));
  for (int idx = 0; idx < 4; ++idx) loaded[threadIdx.x * 4 + idx] = to[idx];
}

__global__ void StoreKernel(const uint32_t* from, uint16_t* matrices) {
  __shared__ __align__(16) uint16_t shared[4 * 64];
  const uint32_t registers[4] = {from[threadIdx.x * 4], from[threadIdx.x * 4 + 1],
                                 from[threadIdx.x * 4 + 2], from[threadIdx.x * 4 + 3]};
  hopper::ptx::StoreMatricesTransposed(hopper::ptx::SharedAddress(&shared[threadIdx.x * 8]),
                                       registers);
  __syncwarp();
  for (int idx = threadIdx.x; idx < 4 * 64; idx += kLanes) matrices[idx] = shared[idx];
}

using PtxMatrices = HopperTest;

TEST_F(PtxMatrices, MmaN8) {
  const std::vector<float> A = SmallIntegers(16 * 16, 1);
  const std::vector<float> B = SmallIntegers(16 * 8, 2);
  const std::vector<float> D = SmallIntegers(16 * 8, 3);
  const DeviceArray<float> A_there(A), B_there(B), D_there(D);
  MmaKernel<<<1, kLanes>>>(A_there.data(), B_there.data(), D_there.data());
  EXPECT_EQ(D_there.Download(), MultiplyAdd({16, 8, 16}, A, B, D));
}

// Lane l, register m: elements [2 (l % 4), + 1][l / 4] of matrix m, which holds its own positions.
std::vector<uint16_t> Positions() {
  std::vector<uint16_t> matrices(4 * 64);
  for (size_t idx = 0; idx < matrices.size(); ++idx) matrices[idx] = static_cast<uint16_t>(idx);
  return matrices;
}
std::vector<uint32_t> PositionsOfLanes() {
  std::vector<uint32_t> of_lanes;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      const uint32_t first = matrix * 64 + lane % 4 * 2 * 8 + lane / 4;
      of_lanes.push_back(first | (first + 8) << 16);
    }
  }
  return of_lanes;
}

TEST_F(PtxMatrices, LoadMatricesTransposed) {
  const DeviceArray<uint16_t> matrices(Positions());
  const DeviceArray<uint32_t> loaded(kLanes * 4);
  LoadKernel<<<1, kLanes>>>(matrices.data(), loaded.data());
  EXPECT_EQ(loaded.Download(), PositionsOfLanes());
}

TEST_F(PtxMatrices, StoreMatricesTransposed) {
  const DeviceArray<uint32_t> from(PositionsOfLanes());
  const DeviceArray<uint16_t> matrices(4 * 64);
  StoreKernel<<<1, kLanes>>>(from.data(), matrices.data());
  EXPECT_EQ(matrices.Download(), Positions());
}

}  // namespace
}  // namespace tilescan::testing
