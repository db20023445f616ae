// What a block of the streaming scan holds in shared memory.
#ifndef TILESCAN_HOPPER_SCAN_STORAGE_H_
#define TILESCAN_HOPPER_SCAN_STORAGE_H_

#include <cstddef>
#include <cstdint>

#include "hopper/scan_config.h"

namespace tilescan::hopper {

struct alignas(1024) Tile {
  uint8_t bytes[kTileBytes];
};

// Tiles of some chunks; nothing at all for none.
template <int kStages, int kTiles>
struct TileRing {
  Tile tile[kStages][kTiles];
};
template <int kTiles>
struct TileRing<0, kTiles> {};

// Sums of out, of each thread of a warpgroup in fours.
template <int kStages>
struct ShareRing {
  float4 sums[kStages][kBlockRows * kChunkSize / 4 / kWarpgroupThreads][kWarpgroupThreads];
};
template <>
struct ShareRing<0> {};

// Which stages of a ring hold what was asked for, and which may be filled anew.
template <int kStages>
struct RingBarriers {
  uint64_t full[kStages];
  uint64_t empty[kStages];
};
template <>
struct RingBarriers<0> {};

// What the warpgroups do with a chunk of their heads. The exponents below count in powers of 2.
//
// The registers hold not the state H but 2^r H: r is the frame. In a chunk with the cumulative
// exponents a_j, x_j is scaled by u_j = 2^(r - a_j) dt_j and out_i by v_i = 2^(a_i - r), so that
//   out_i = v_i (2^r H C_i + sum over j <= i of CB_ij u_j x_j)
//   2^r H becomes 2^r H + sum over j of u_j x_j B_j, which is the new state in the frame r - a_last
// without any exponential of a pair (i, j). The frame runs on from chunk to chunk; only when
// exponents would leave their range is the state rescaled.
enum class ChunkBody : int32_t {
  kKeepFrame,
  kRescale,       // the state by scale
  kRescaleTwice,  // the state by scale, then by scale_again: neither underflows
  // From here on all heads of a row block do the same: the products differ.
  // The halves have a frame each: the state by scale twice for the first half; then by scale_again
  // for the second, and for the new state.
  kSplitHalves,
  // Any exponents, NaN too: 2^(a_i - a_j) dt_j for each pair. The state by scale, which takes it
  // out of its frame; then by scale_again twice, which is the chunk's decay.
  kExact,
};

struct alignas(16) ChunkFrame {
  float scale;
  float scale_again;
  ChunkBody body;
  float end_scale;  // what takes the state after the chunk out of its frame
};

// A factor in bf16, as the sum of two, for two tokens at once.
struct FactorPairs {
  uint32_t high;
  uint32_t low;
};

// For the tokens 16 k + 2 t, + 1 and 16 k + 8 + 2 t, + 1, which a lane t (of 4) holds of step k.
struct alignas(16) InputFactors {
  FactorPairs pair[2];
};
struct alignas(16) OutFactors {
  float2 pair[2];
};

constexpr int kTokenSteps = kChunkSize / 16;

// What a head's factor warp makes of a chunk's dt.
struct ChunkFactors {
  InputFactors input[kTokenSteps][4];  // u
  union {
    OutFactors out[kTokenSteps][4];  // v
    float exponent[kChunkSize];      // kExact: a
  };
  union {
    InputFactors first_half_input[kTokenSteps / 2][4];  // kSplitHalves: u in the first half's frame
    float dt[kChunkSize];                               // kExact
  };
  ChunkFrame frame;
};

template <typename Config>
struct ScanStorage {
  // Row j of a tile is token j, column p row p of a row block.
  TileRing<Config::kXStages, Config::kRowBlocks> x;
  // Row j is token j, the columns are dstate.
  TileRing<Config::kBStages, Config::kDstateTiles> B;
  TileRing<Config::kCStages, Config::kDstateTiles> C;
  // Row i is token i of out, column j token j of x; 0 where j > i.
  TileRing<Config::kCStages, 1> CB;
  TileRing<Config::kOutStages, Config::kRowBlocks> out;
  TileRing<Config::kZStages, Config::kRowBlocks> z;
  // Sums of out that are due to the second part of dstate.
  ShareRing<Config::kShareStages> share;
  ChunkFactors factors[Config::kRowBlocks][Config::kFactorStages][Config::kRowHeads];

  RingBarriers<Config::kXStages> x_ring;
  RingBarriers<Config::kBStages> group_ring;  // of B, C and CB together
  RingBarriers<Config::kZStages> z_ring;
  RingBarriers<Config::kFactorStages> factor_ring[Config::kRowBlocks];
  RingBarriers<Config::kOutStages> out_ring[Config::kRowBlocks];
  RingBarriers<Config::kShareStages> share_ring;
};

// What a block of sm_90 can have.
inline constexpr size_t kMostSharedBytes = 227 * 1024;

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_STORAGE_H_
