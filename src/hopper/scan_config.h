// Sizes that the streaming scan is compiled for, and what follows from them.
#ifndef TILESCAN_HOPPER_SCAN_CONFIG_H_
#define TILESCAN_HOPPER_SCAN_CONFIG_H_

#include <cstdint>

#include "cuda/warp.h"
#include "hopper/scan_pieces.h"

namespace tilescan::hopper {

inline constexpr int kChunkSize = 64;

// The rows of the products are the channels of a group's heads, one head after another: row =
// head * headdim + channel. A row block is as many of them as a warpgroup's products have. Where
// headdim is a multiple of that, it lies in one head; else it has rows of two heads at most, and
// those of a warp are of one head.
inline constexpr int kBlockRows = 64;
inline constexpr int kWarpRows = 16;
inline constexpr int kLeastHeaddim = 32;
// Warpgroups of a thread block that compute: a row block each, which share the group's B, C and CB;
// or, where a state is too wide for the registers of one, a part of dstate each.
inline constexpr int kRowWarpgroups = 2;

using cuda::kWarpLanes;
inline constexpr int kWarpgroupWarps = 4;
inline constexpr int kWarpgroupThreads = kWarpgroupWarps * kWarpLanes;
// The first warpgroup feeds the others.
inline constexpr int kScanThreads = (1 + kRowWarpgroups) * kWarpgroupThreads;
// What each thread has at the start; the warpgroups share them out anew.
inline constexpr int kStartRegisters = 65536 / kScanThreads / 8 * 8;

// A tile: 64 rows of 64 bf16, each row in 8 pieces of 16 bytes, piece p of row r at place p ^ r
// % 8.
inline constexpr int kTileRows = 64;
inline constexpr int kTileColumns = 64;
inline constexpr int kTileRowBytes = kTileColumns * 2;
inline constexpr int kTileBytes = kTileRows * kTileRowBytes;

constexpr int NumStateParts(int64_t dstate) { return dstate > 128 ? 2 : 1; }

template <int kDstateOfScan, int kRowHeadsOfScan, bool kHasZOfScan, ScanPass kPassOfScan>
struct ScanConfig {
  static constexpr int kDstate = kDstateOfScan;
  static constexpr int kRowHeads = kRowHeadsOfScan;  // that a row block has rows of, at most
  static constexpr bool kHasZ = kHasZOfScan;
  static constexpr ScanPass kPass = kPassOfScan;
  static constexpr bool kMakesOut = kPass == ScanPass::kOut;

  // Only for these are the products that make the state written out.
  static_assert(kDstate == 64 || kDstate == 128 || kDstate == 256);
  static_assert(kRowHeads == 1 || kRowHeads == 2);
  static_assert(kMakesOut || !kHasZ, "z gates out only");
  static_assert(kChunkSize == kTileRows && kBlockRows == kTileColumns);

  // Parts of dstate that a warpgroup holds one of, and row blocks that a thread block takes at
  // once.
  static constexpr int kStateParts = NumStateParts(kDstate);
  static constexpr int kPartDstate = kDstate / kStateParts;
  static constexpr int kRowBlocks = kRowWarpgroups / kStateParts;

  // Tiles of 64 columns beside each other in a chunk's B, and in its C.
  static constexpr int kDstateTiles = kDstate / kTileColumns;
  static constexpr int kPartTiles = kDstateTiles / kStateParts;
  // What a thread of a warpgroup holds of the state and of out, in fp32.
  static constexpr int kStateFloats = kBlockRows * kPartDstate / kWarpgroupThreads;
  static constexpr int kOutFloats = kBlockRows * kChunkSize / kWarpgroupThreads;

  // Chunks that each ring of shared memory has room for.
  static constexpr int kXStages = !kMakesOut ? 6 : kHasZ && kStateParts == 1 ? 3 : 4;
  static constexpr int kZStages = kHasZ ? 2 : 0;
  static constexpr int kBStages = !kMakesOut ? 4 : kStateParts == 1 ? 3 : 2;
  static constexpr int kCStages = kMakesOut ? kBStages : 0;  // of C, and of CB
  static constexpr int kOutStages = kMakesOut ? 1 : 0;
  static constexpr int kShareStages = kMakesOut && kStateParts > 1 ? 1 : 0;  // of shares of out
  static constexpr int kFactorStages = (kHasZ ? 6 : 8) / kRowHeads;

  // Chunks that a factor warp works on at once, to have something to do in the latencies. More than
  // two at once are bursts that the products of out are slowed down by, if these are many.
  static constexpr int kGroupChunks = kMakesOut && kDstate > 64 ? 2 : 4 / kRowHeads;

  // Registers of a thread in the feeding warpgroup and in the others.
  static constexpr int kFeedRegisters = 56;
  static constexpr int kRowRegisters = 224;
  static_assert(kFeedRegisters % 8 == 0 && kRowRegisters % 8 == 0);
  static_assert(kFeedRegisters + kRowWarpgroups * kRowRegisters <=
                (1 + kRowWarpgroups) * kStartRegisters);
};

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_CONFIG_H_
