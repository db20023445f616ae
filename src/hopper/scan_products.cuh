// Steps of a chunk: fragments of x and the state in registers, and the products that they are the
// left operands of. All are transposed, so that rows are channels p:
//   out^T (p, i)  = 2^r H (p, n) C^T (n, i) + (u x)^T (p, j) CB^T (j, i)
//   2^r H (p, n) += (u x)^T (p, j) B (j, n)
// B, C and CB come from shared memory as they are.
#ifndef TILESCAN_HOPPER_SCAN_PRODUCTS_CUH_
#define TILESCAN_HOPPER_SCAN_PRODUCTS_CUH_

#include <cstdint>

#include "hopper/ptx/arithmetic.h"
#include "hopper/ptx/shared_memory.h"
#include "hopper/ptx/wgmma.h"
#include "hopper/ring.cuh"
#include "hopper/scan_state.cuh"
#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Bytes from a step's 16 tokens to the next's, along the rows of a tile and across them.
inline constexpr int kStepAlongBytes = 16 * 2;
inline constexpr int kStepAcrossBytes = 16 * kTileRowBytes;
inline constexpr int kHalfRows = kTileRows / 2;

// Fragments of the left operands: element (p, j) of (u x)^T, for the 16 tokens j of each step.
using InputFragments = uint32_t[kTokenSteps][4];
template <typename Config>
using OutSums = float[Config::kOutFloats];
template <typename Config>
using StateSums = float[Config::kStateFloats];
template <typename Config>
using StateFragments = uint32_t[Config::kPartDstate / 16][4];

// What the warpgroup works with in a chunk.
template <typename Config>
struct Chunk {
  RowThread at;
  ScanStorage<Config>& storage;
  const ChunkFactors& factors;
  ChunkFrame frame;
  int group_stage;
  RingCursor<Config::kZStages> z_at;
  RingCursor<Config::kOutStages> out_at;
  RingCursor<Config::kShareStages> share_at;
  float D[2];  // of the thread's rows

  // Shared addresses of its tiles, of several the first.
  __device__ __forceinline__ uint32_t C() const { return ptx::SharedAddress(CTiles()); }
  __device__ __forceinline__ uint32_t B() const {
    return ptx::SharedAddress(&storage.B.tile[group_stage][at.part_idx * Config::kPartTiles]);
  }
  __device__ __forceinline__ const Tile* CTiles() const {
    return &storage.C.tile[group_stage][at.part_idx * Config::kPartTiles];
  }
  __device__ __forceinline__ uint32_t CB() const { return ptx::SharedAddress(&CBTile()); }
  __device__ __forceinline__ const Tile& CBTile() const { return storage.CB.tile[group_stage][0]; }
  __device__ __forceinline__ Tile& Out() const {
    return storage.out.tile[out_at.stage][at.block_idx];
  }
};

// ---- fragments ----

// Where a lane's row of 8 x 8 matrices begins, for the 16 tokens and 16 channels of a fragment, in
// a tile of tokens by channels: matrices 0 to 3 are the fragment's registers 0 to 3.
__device__ __forceinline__ uint32_t MatrixOffset(const RowThread& at) {
  const int matrix = at.lane / 8;
  const int token = matrix / 2 * 8 + at.lane % 8;
  const int piece = at.warp * 2 + matrix % 2;
  return static_cast<uint32_t>(token * kTileRowBytes + (piece ^ token % 8) * 16);
}

__device__ __forceinline__ void LoadFragments(const Tile& tile, const RowThread& at,
                                              InputFragments& x) {
  const uint32_t address = ptx::SharedAddress(&tile) + MatrixOffset(at);
#pragma unroll
  for (int step = 0; step < kTokenSteps; ++step) {
    ptx::LoadMatricesTransposed(x[step], address + step * kStepAcrossBytes);
  }
}

// u x for some steps. u is the sum of two bf16, so it is as if x were multiplied by u in fp32 and
// rounded, nearly.
template <int kSteps>
__device__ __forceinline__ void ScaleInput(const InputFragments& x,
                                           const InputFactors (&factors)[kSteps],
                                           uint32_t (&scaled)[kSteps][4]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) {
      const FactorPairs u = factors[step].pair[idx / 2];
      scaled[step][idx] =
          ptx::MultiplyAddPairs(x[step][idx], u.high, ptx::MultiplyPairs(x[step][idx], u.low));
    }
  }
}

template <int kSteps>
__device__ __forceinline__ void LoadInputFactors(const InputFactors (*from)[4], int lane,
                                                 InputFactors (&factors)[kSteps]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) factors[step] = from[step][lane % 4];
}

template <typename Config>
__device__ __forceinline__ void RoundState(const StateSums<Config>& state,
                                           StateFragments<Config>& rounded) {
#pragma unroll
  for (int idx = 0; idx < Config::kStateFloats; idx += 2) {
    rounded[idx / 8][idx / 2 % 4] = ptx::RoundPair(state[idx], state[idx + 1]);
  }
}

// ---- products ----

template <typename Config>
__device__ __forceinline__ void MultiplyStateByC(const Chunk<Config>& chunk,
                                                 const StateFragments<Config>& state,
                                                 OutSums<Config>& out) {
  constexpr int kTileSteps = kTileColumns / 16;
  const ptx::Operand C = ptx::AlongRows(chunk.C());
  ptx::WgmmaN64<false, false>(out, state[0], C);
#pragma unroll
  for (int step = 1; step < Config::kPartDstate / 16; ++step) {
    const int offset = step / kTileSteps * kTileBytes + step % kTileSteps * kStepAlongBytes;
    ptx::WgmmaN64<true, false>(out, state[step], C + offset);
  }
}

// weights: the address of a tile like CB.
template <typename Config>
__device__ __forceinline__ void AddInputToOut(const InputFragments& scaled, uint32_t weights,
                                              OutSums<Config>& out) {
  const ptx::Operand CB = ptx::AlongRows(weights);
#pragma unroll
  for (int step = 0; step < kTokenSteps; ++step) {
    ptx::WgmmaN64<true, false>(out, scaled[step], CB + step * kStepAlongBytes);
  }
}

// first_B: the address of its first tile.
template <typename Config>
__device__ __forceinline__ void AddInputToState(const InputFragments& scaled, uint32_t first_B,
                                                StateSums<Config>& state) {
  const ptx::Operand B = ptx::AcrossRows(first_B, kTileBytes);
#pragma unroll
  for (int step = 0; step < kTokenSteps; ++step) {
    if constexpr (Config::kPartDstate == 64) {
      ptx::WgmmaN64<true, true>(state, scaled[step], B + step * kStepAcrossBytes);
    } else {
      ptx::WgmmaN128<true, true>(state, scaled[step], B + step * kStepAcrossBytes);
    }
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_PRODUCTS_CUH_
