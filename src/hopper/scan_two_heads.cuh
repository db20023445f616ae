// Exact computing of a chunk where a row block has rows of two heads. CB with their decays differs,
// so that it is no operand of the warpgroup's products.
#ifndef TILESCAN_HOPPER_SCAN_TWO_HEADS_CUH_
#define TILESCAN_HOPPER_SCAN_TWO_HEADS_CUH_

#include <cstdint>

#include "hopper/ptx/mma.h"
#include "hopper/scan_bodies.cuh"

namespace tilescan::hopper {

// Adds the product of x and CB with decays, for 8 tokens.
template <typename Config>
__device__ __forceinline__ void AddDecayedOfWarp(const Chunk<Config>& chunk,
                                                 const InputFragments& x, int first_token,
                                                 float (&sums)[4]) {
  const int row = first_token + chunk.at.lane / 4;
  const float row_exponent = chunk.factors.exponent[row];
  const uint8_t* bytes = chunk.CBTile().bytes + row * kTileRowBytes;
#pragma unroll 1
  for (int step = 0; step < kTokenSteps; ++step) {
    const auto word = [&](int idx) {
      const int column = step * 16 + idx * 8 + chunk.at.Column();
      const uint8_t* pair = bytes + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
      return DecayPair(chunk.factors, row_exponent, row, column,
                       *reinterpret_cast<const uint32_t*>(pair));
    };
    ptx::MmaN8(sums, x[step], word(0), word(1));
  }
}

// The formula as it stands, as ComputeExactly(): each warp makes its own out.
template <typename Config>
__device__ __forceinline__ void ComputeExactlyByWarp(const Chunk<Config>& chunk,
                                                     const InputFragments& x,
                                                     const InputFragments& scaled,
                                                     StateSums<Config>& state) {
  StateFragments<Config> rounded;
  RoundState<Config>(state, rounded);
  InputFragments finite;
  NonfiniteTokens tokens = {};
  TakeNonfinite(x, finite, tokens);
  OutSums<Config> out;
  RedoSums(out, [&](int first_token, float(&sums)[4]) {
    AddProductOfWarp<true>(rounded, chunk.CTiles(), first_token, sums);
    DecaySums(chunk, first_token, sums);
    AddDecayedOfWarp(chunk, finite, first_token, sums);
    SpreadNan(tokens, first_token, sums);
  });
  Scale<Config>(state, chunk.frame.scale_again);
  Scale<Config>(state, chunk.frame.scale_again);
  ptx::WgmmaFence();
  AddInputToState<Config>(scaled, chunk.B(), state);
  ptx::WgmmaCommitGroup();
  AddShare(chunk, out);
  WaitForOutTile(chunk);
  WriteUnscaled(chunk, x, out);
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_TWO_HEADS_CUH_
