// hopper/ptx/synchronization.h: what a barrier or a released word orders is seen behind it.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hopper/ptx/synchronization.h"
#include "tests/gpu/gpu.h"

namespace tilescan::testing {
namespace {

constexpr uint32_t kRounds = 1000;
// So that a fault ends the test and does not hang it: some seconds of waiting.
constexpr int64_t kMostSpins = int64_t{1} << 24;

// Waits for the word to be value or, if its writer is ahead, more; false if it never was.
__device__ bool AwaitWord(const uint32_t* word, uint32_t value) {
  for (int64_t spin = 0; spin < kMostSpins; ++spin) {
    if (hopper::ptx::LoadAcquire(word) >= value) return true;
  }
  return false;
}

constexpr int kThreads = 256;

// Two blocks, which hand numbers to each other in turns: each writes all, releases a word, and
// reads what the other wrote once it has acquired the other's word. words: 2 of 0; numbers (2,
// kThreads); num_wrong counts numbers that were not those of the round.
__global__ void __launch_bounds__(kThreads)
    HandOverKernel(uint32_t* words, uint32_t* numbers, uint32_t* num_wrong) {
  const uint32_t own = blockIdx.x;
  const uint32_t other = 1 - own;
  __shared__ bool is_there;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    numbers[own * kThreads + threadIdx.x] = round * kThreads + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      hopper::ptx::StoreRelease(&words[own], 2 * round - 1);
      is_there = AwaitWord(&words[other], 2 * round - 1);
    }
    __syncthreads();
    if (!is_there) {
      atomicAdd(num_wrong, 1u);
      return;
    }
    // Read in reverse, so that no thread reads what its twin wrote. Plain loads: the acquire of one
    // thread and the barrier order them.
    const uint32_t twin = kThreads - 1 - threadIdx.x;
    const uint32_t* from = &numbers[other * kThreads + twin];
    if (*const_cast<const volatile uint32_t*>(from) != round * kThreads + twin) {
      atomicAdd(num_wrong, 1u);
    }
    __syncthreads();
    // Read by all, before the next round's are written.
    if (threadIdx.x == 0) {
      hopper::ptx::StoreRelease(&words[own], 2 * round);
      is_there = AwaitWord(&words[other], 2 * round);
    }
    __syncthreads();
    if (!is_there) {
      atomicAdd(num_wrong, 1u);
      return;
    }
  }
}

// Two pairs of warps, each with a barrier of its own and another number of rounds: a barrier of all
// would wait for ever, and none would let a warp read before its partner has written.
__global__ void __launch_bounds__(128) BarrierKernel(uint32_t* num_wrong) {
  __shared__ uint32_t numbers[4][32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int pair = warp / 2;
  const uint32_t num_rounds = pair == 0 ? kRounds : 37;
  for (uint32_t round = 0; round < num_rounds; ++round) {
    // One warp of the pair is late, now this, now that.
    if ((round + warp) % 2 == 0) __nanosleep(200);
    *const_cast<volatile uint32_t*>(&numbers[warp][lane]) = round * 128 + threadIdx.x;
    hopper::ptx::SyncNamedBarrier(1 + pair, 64);
    const int partner = warp ^ 1;
    const uint32_t got = *const_cast<volatile uint32_t*>(&numbers[partner][31 - lane]);
    if (got != round * 128 + partner * 32 + 31 - lane) atomicAdd(num_wrong, 1u);
    hopper::ptx::SyncNamedBarrier(1 + pair, 64);
  }
}

using PtxSynchronization = HopperTest;

TEST_F(PtxSynchronization, LoadAcquireSeesWhatStoreReleaseOrdered) {
  const DeviceArray<uint32_t> words(2), numbers(2 * kThreads), num_wrong(1);
  HandOverKernel<<<2, kThreads>>>(words.data(), numbers.data(), num_wrong.data());
  EXPECT_EQ(num_wrong.Download(), std::vector<uint32_t>{0});
  EXPECT_EQ(words.Download(), (std::vector<uint32_t>{2 * kRounds, 2 * kRounds}));
}

TEST_F(PtxSynchronization, SyncNamedBarrierIsOfItsWarpsAlone) {
  const DeviceArray<uint32_t> num_wrong(1);
  BarrierKernel<<<1, 128>>>(num_wrong.data());
  EXPECT_EQ(num_wrong.Download(), std::vector<uint32_t>{0});
}

}  // namespace
}  // namespace tilescan::testing
