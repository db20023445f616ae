// What a row block's warpgroup does with a chunk, in each of three ways (ChunkBody says what u, v
// and r are): the products, then out, which goes to shared memory.
#ifndef TILESCAN_HOPPER_SCAN_BODIES_CUH_
#define TILESCAN_HOPPER_SCAN_BODIES_CUH_

#include <cstdint>
#include <cuda/ptx>

#include "hopper/ptx/synchronization.h"
#include "hopper/scan_nonfinite.cuh"
#include "hopper/scan_products.cuh"

namespace tilescan::hopper {

// ---- out ----

__device__ __forceinline__ float Gate(float out, float z) {
  // out z / (1 + e^-z). Below z = -87 it may be 0, off by less than 1e-35 |out|.
  return __fdividef(out * z, 1.0f + ptx::Exp2(-kLog2E * z));
}

template <typename Config>
__device__ __forceinline__ void LoadOutFactors(const Chunk<Config>& chunk,
                                               OutFactors (&factors)[kTokenSteps]) {
#pragma unroll
  for (int step = 0; step < kTokenSteps; ++step) {
    factors[step] = chunk.factors.out[step][chunk.at.lane % 4];
  }
}

// Until out's tile is free, and z's is there.
template <typename Config>
__device__ __forceinline__ void WaitForOutTile(const Chunk<Config>& chunk) {
  WaitEmpty(chunk.storage.out_ring[chunk.at.block_idx], chunk.out_at);
  if constexpr (Config::kHasZ) WaitFull(chunk.storage.z_ring, chunk.z_at);
  __syncwarp();
}

// out = v value + D x, times silu(z), to its tile. value(idx): of the sums.
template <typename Config, typename Value>
__device__ __forceinline__ void WriteOut(const Chunk<Config>& chunk, const InputFragments& x,
                                         const OutFactors (&factors)[kTokenSteps],
                                         const Value& value) {
  const uint32_t to = ptx::SharedAddress(&chunk.Out()) + MatrixOffset(chunk.at);
#pragma unroll
  for (int step = 0; step < kTokenSteps; ++step) {
    uint32_t z[4];
    if constexpr (Config::kHasZ) {
      const Tile& tile = chunk.storage.z.tile[chunk.z_at.stage][chunk.at.block_idx];
      ptx::LoadMatricesTransposed(
          z, ptx::SharedAddress(&tile) + MatrixOffset(chunk.at) + step * kStepAcrossBytes);
    }
    uint32_t out[4];
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) {
      const float2 factor = factors[step].pair[idx / 2];
      const int sum = step * 8 + idx * 2;
      const float D = chunk.D[idx % 2];
      float first = value(sum) * factor.x + D * ptx::FirstOf(x[step][idx]);
      float second = value(sum + 1) * factor.y + D * ptx::SecondOf(x[step][idx]);
      if constexpr (Config::kHasZ) {
        first = Gate(first, ptx::FirstOf(z[idx]));
        second = Gate(second, ptx::SecondOf(z[idx]));
      }
      out[idx] = ptx::RoundPair(first, second);
    }
    ptx::StoreMatricesTransposed(to + step * kStepAcrossBytes, out);
  }
  if constexpr (Config::kHasZ) ArriveOfWarp(chunk.storage.z_ring.empty[chunk.z_at.stage]);
  // So that TMA sees it.
  ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  ArriveOfWarp(chunk.storage.out_ring[chunk.at.block_idx].full[chunk.out_at.stage]);
}

// Where dstate is in parts: the second's sums go to the first, which adds them to its own when
// these are complete.
template <typename Config>
__device__ __forceinline__ void StoreShare(const Chunk<Config>& chunk, const OutSums<Config>& out) {
  WaitEmpty(chunk.storage.share_ring, chunk.share_at);
  __syncwarp();
#pragma unroll
  for (int idx = 0; idx < Config::kOutFloats; idx += 4) {
    chunk.storage.share.sums[chunk.share_at.stage][idx / 4][chunk.at.thread] =
        make_float4(out[idx], out[idx + 1], out[idx + 2], out[idx + 3]);
  }
  ArriveOfWarp(chunk.storage.share_ring.full[chunk.share_at.stage]);
}

template <typename Config>
__device__ __forceinline__ void AddShare(const Chunk<Config>& chunk, OutSums<Config>& out) {
  if constexpr (Config::kStateParts > 1) {
    WaitFull(chunk.storage.share_ring, chunk.share_at);
    __syncwarp();
#pragma unroll
    for (int idx = 0; idx < Config::kOutFloats; idx += 4) {
      const float4 sums = chunk.storage.share.sums[chunk.share_at.stage][idx / 4][chunk.at.thread];
      out[idx] += sums.x;
      out[idx + 1] += sums.y;
      out[idx + 2] += sums.z;
      out[idx + 3] += sums.w;
    }
    ArriveOfWarp(chunk.storage.share_ring.empty[chunk.share_at.stage]);
  }
}

// By 2^a of each token, for sums of 8 tokens. In two halves: what is 0 stays 0 where 2^a overflows.
template <typename Config>
__device__ __forceinline__ void DecaySums(const Chunk<Config>& chunk, int first_token,
                                          float (&sums)[4]) {
  const float* exponents = &chunk.factors.exponent[first_token + chunk.at.Column()];
  const float2 exponent = *reinterpret_cast<const float2*>(exponents);
  const float first = ptx::Exp2(0.5f * exponent.x);
  const float second = ptx::Exp2(0.5f * exponent.y);
  sums[0] = sums[0] * first * first;
  sums[1] = sums[1] * second * second;
  sums[2] = sums[2] * first * first;
  sums[3] = sums[3] * second * second;
}

// out once more where x is infinite or NaN. weights: a tile like CB; kIsExact: the state is in no
// frame.
template <typename Config, bool kIsExact>
__device__ __forceinline__ void RedoOut(const Chunk<Config>& chunk,
                                        const StateFragments<Config>& state,
                                        const InputFragments& input, const Tile& weights,
                                        OutSums<Config>& out) {
  InputFragments finite;
  NonfiniteTokens tokens = {};
  TakeNonfinite(input, finite, tokens);
  RedoSums(out, [&](int first_token, float(&sums)[4]) {
    AddProductOfWarp<false>(state, chunk.CTiles(), first_token, sums);
    if constexpr (kIsExact) DecaySums(chunk, first_token, sums);
    AddProductOfWarp<false>(finite, &weights, first_token, sums);
    SpreadNan(tokens, first_token, sums);
  });
}

// As RedoOut(), with a frame for each half.
template <typename Config>
__device__ __forceinline__ void RedoHalves(const Chunk<Config>& chunk,
                                           const StateFragments<Config>& state,
                                           const uint32_t (&first_scaled)[kTokenSteps / 2][4],
                                           const InputFragments& scaled, OutSums<Config>& out,
                                           float (&second_half)[Config::kOutFloats / 2]) {
  uint32_t first_finite[kTokenSteps / 2][4];
  InputFragments finite;
  NonfiniteTokens tokens = {};
  TakeNonfinite(first_scaled, first_finite, tokens);
  TakeNonfinite(scaled, finite, tokens);
  RedoSums(out, [&](int first_token, float(&sums)[4]) {
    AddProductOfWarp<false>(state, chunk.CTiles(), first_token, sums);
    if (first_token < kHalfRows) {
      AddProductOfWarp<false>(first_finite, &chunk.CBTile(), first_token, sums);
    }
    SpreadNan(tokens, first_token, sums);
  });
  RedoSums(second_half, [&](int first_token, float(&sums)[4]) {
    AddProductOfWarp<false>(finite, &chunk.CBTile(), kHalfRows + first_token, sums);
  });
}

// ---- bodies: each leaves the products of the new state under way ----

template <typename Config>
__device__ __forceinline__ void ComputeInOneFrame(const Chunk<Config>& chunk,
                                                  const InputFragments& x,
                                                  const InputFragments& scaled,
                                                  StateSums<Config>& state) {
  StateFragments<Config> rounded;
  RoundState<Config>(state, rounded);
  OutSums<Config> out;
  ptx::WgmmaFence();
  MultiplyStateByC<Config>(chunk, rounded, out);
  AddInputToOut<Config>(scaled, chunk.CB(), out);
  ptx::WgmmaCommitGroup();
  AddInputToState<Config>(scaled, chunk.B(), state);
  ptx::WgmmaCommitGroup();

  OutFactors factors[kTokenSteps];
  LoadOutFactors(chunk, factors);
  WaitForOutTile(chunk);
  ptx::WgmmaWaitGroup<1>();
  ptx::PinRegisters(out);
  if (AnyNan(out)) RedoOut<Config, false>(chunk, rounded, scaled, chunk.CBTile(), out);
  AddShare(chunk, out);
  WriteOut(chunk, x, factors, [&](int idx) { return out[idx]; });
}

// Each half of the chunk in its own frame: x of the first half is scaled for either.
template <typename Config>
__device__ __forceinline__ void ComputeInTwoFrames(const Chunk<Config>& chunk,
                                                   const InputFragments& x,
                                                   const InputFragments& scaled,
                                                   StateSums<Config>& state) {
  constexpr int kHalfSteps = kTokenSteps / 2;
  InputFactors first_factors[kHalfSteps];
  LoadInputFactors(chunk.factors.first_half_input, chunk.at.lane, first_factors);
  uint32_t first_scaled[kHalfSteps][4];
  ScaleInput(x, first_factors, first_scaled);

  Scale<Config>(state, chunk.frame.scale);  // once more, into the first half's frame
  StateFragments<Config> rounded;
  RoundState<Config>(state, rounded);
  Scale<Config>(state, chunk.frame.scale_again);
  OutSums<Config> out;                        // in the first frame: all of the state's part
  float second_half[Config::kOutFloats / 2];  // in the second: x's part
  const ptx::Operand CB = ptx::AlongRows(chunk.CB());
  const ptx::Operand second_rows = CB + kHalfRows * kTileRowBytes;
  ptx::WgmmaFence();
  MultiplyStateByC<Config>(chunk, rounded, out);
#pragma unroll
  for (int step = 0; step < kHalfSteps; ++step) {
    ptx::WgmmaN32<true, false>(out, first_scaled[step], CB + step * kStepAlongBytes);
  }
  ptx::WgmmaN32<false, false>(second_half, scaled[0], second_rows);
#pragma unroll
  for (int step = 1; step < kTokenSteps; ++step) {
    ptx::WgmmaN32<true, false>(second_half, scaled[step], second_rows + step * kStepAlongBytes);
  }
  ptx::WgmmaCommitGroup();
  AddInputToState<Config>(scaled, chunk.B(), state);
  ptx::WgmmaCommitGroup();

  WaitForOutTile(chunk);
  ptx::WgmmaWaitGroup<1>();
  ptx::PinRegisters(out);
  ptx::PinRegisters(second_half);
  if (AnyNan(out) || AnyNan(second_half)) {
    RedoHalves<Config>(chunk, rounded, first_scaled, scaled, out, second_half);
  }
  AddShare(chunk, out);
  OutFactors factors[kTokenSteps];
  LoadOutFactors(chunk, factors);
  WriteOut(chunk, x, factors, [&](int idx) {
    constexpr int kHalf = Config::kOutFloats / 2;
    return idx < kHalf ? out[idx]
                       : fmaf(out[idx], chunk.frame.scale_again, second_half[idx % kHalf]);
  });
}

// CB_ij 2^(a_i - a_j) dt_j for j <= i, else 0 whatever the exponent would be, of two neighbours in
// a row.
__device__ __forceinline__ uint32_t DecayPair(const ChunkFactors& factors, float row_exponent,
                                              int row, int column, uint32_t pair) {
  const float2 exponent = *reinterpret_cast<const float2*>(&factors.exponent[column]);
  const float2 dt = *reinterpret_cast<const float2*>(&factors.dt[column]);
  const float first_weight = ptx::Exp2(row_exponent - exponent.x) * dt.x;
  const float second_weight = ptx::Exp2(row_exponent - exponent.y) * dt.y;
  return ptx::RoundPair(column <= row ? ptx::FirstOf(pair) * first_weight : 0.0f,
                        column < row ? ptx::SecondOf(pair) * second_weight : 0.0f);
}

// CB with decays to out's tile. Each thread has half a row.
template <typename Config>
__device__ __forceinline__ void WriteDecayedCB(const Chunk<Config>& chunk) {
  const int row = chunk.at.thread / 2;
  const int first_column = chunk.at.thread % 2 * kHalfRows;
  const float row_exponent = chunk.factors.exponent[row];
  const uint8_t* from = chunk.CBTile().bytes + row * kTileRowBytes;
  uint8_t* to = chunk.Out().bytes + row * kTileRowBytes;
#pragma unroll
  for (int first = 0; first < kHalfRows; first += 8) {
    const int piece = (first_column + first) / 8;
    const int offset = (piece ^ row % 8) * 16;
    uint4 bits = *reinterpret_cast<const uint4*>(from + offset);
    uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) {
      const int column = first_column + first + 2 * idx;
      pairs[idx] = DecayPair(chunk.factors, row_exponent, row, column, pairs[idx]);
    }
    *reinterpret_cast<uint4*>(to + offset) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}

template <typename Config>
__device__ __forceinline__ void DecayOut(const Chunk<Config>& chunk, OutSums<Config>& out) {
#pragma unroll
  for (int first = 0; first < Config::kOutFloats; first += 4) {
    float sums[4] = {out[first], out[first + 1], out[first + 2], out[first + 3]};
    DecaySums(chunk, first * 2, sums);
#pragma unroll
    for (int idx = 0; idx < 4; ++idx) out[first + idx] = sums[idx];
  }
}

// Out that has the decays in it.
template <typename Config>
__device__ __forceinline__ void WriteUnscaled(const Chunk<Config>& chunk, const InputFragments& x,
                                              const OutSums<Config>& out) {
  constexpr OutFactors kOne = {{{1.0f, 1.0f}, {1.0f, 1.0f}}};
  const OutFactors factors[kTokenSteps] = {kOne, kOne, kOne, kOne};
  WriteOut(chunk, x, factors, [&](int idx) { return out[idx]; });
}

// The formula as it stands. The state is in no frame, before and after.
template <typename Config>
__device__ __forceinline__ void ComputeExactly(const Chunk<Config>& chunk, const InputFragments& x,
                                               const InputFragments& scaled,
                                               StateSums<Config>& state) {
  const int barrier_idx = 1 + chunk.at.block_idx;
  StateFragments<Config> rounded;
  RoundState<Config>(state, rounded);
  WaitForOutTile(chunk);
  WriteDecayedCB(chunk);
  ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  ptx::SyncNamedBarrier(barrier_idx, kWarpgroupThreads);

  OutSums<Config> out;
  ptx::WgmmaFence();
  MultiplyStateByC<Config>(chunk, rounded, out);
  ptx::WgmmaCommitGroup();
  ptx::WgmmaWaitGroup<0>();
  ptx::PinRegisters(out);
  DecayOut<Config>(chunk, out);
  Scale<Config>(state, chunk.frame.scale_again);
  Scale<Config>(state, chunk.frame.scale_again);
  ptx::WgmmaFence();
  AddInputToOut<Config>(x, ptx::SharedAddress(&chunk.Out()), out);
  ptx::WgmmaCommitGroup();
  AddInputToState<Config>(scaled, chunk.B(), state);
  ptx::WgmmaCommitGroup();

  ptx::WgmmaWaitGroup<1>();
  ptx::PinRegisters(out);
  if (AnyNan(out)) RedoOut<Config, true>(chunk, rounded, x, chunk.Out(), out);
  AddShare(chunk, out);
  // All warps have read the tile that out is written to now.
  ptx::SyncNamedBarrier(barrier_idx, kWarpgroupThreads);
  WriteUnscaled(chunk, x, out);
}

// The second part of dstate, in all three ways: its share of out, as the first part adds it there.
template <typename Config>
__device__ __forceinline__ void ComputeShare(const Chunk<Config>& chunk, ChunkBody body,
                                             const InputFragments& scaled,
                                             StateSums<Config>& state) {
  if (body == ChunkBody::kSplitHalves) Scale<Config>(state, chunk.frame.scale);
  StateFragments<Config> rounded;
  RoundState<Config>(state, rounded);
  if (body >= ChunkBody::kSplitHalves) Scale<Config>(state, chunk.frame.scale_again);
  if (body == ChunkBody::kExact) Scale<Config>(state, chunk.frame.scale_again);
  OutSums<Config> out;
  ptx::WgmmaFence();
  MultiplyStateByC<Config>(chunk, rounded, out);
  ptx::WgmmaCommitGroup();
  AddInputToState<Config>(scaled, chunk.B(), state);
  ptx::WgmmaCommitGroup();
  ptx::WgmmaWaitGroup<1>();
  ptx::PinRegisters(out);
  if (body == ChunkBody::kExact) DecayOut<Config>(chunk, out);
  StoreShare(chunk, out);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_BODIES_CUH_
