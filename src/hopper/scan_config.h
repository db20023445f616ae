// Sizes that the streaming scan is compiled for, and what follows from them.
#ifndef TILESCAN_HOPPER_SCAN_CONFIG_H_
#define TILESCAN_HOPPER_SCAN_CONFIG_H_

#include "hopper/scan_pieces.h"

namespace tilescan::hopper {

// The sizes there are kernels for.
inline constexpr int kScanHeaddim = 64;
inline constexpr int kScanDstate = 128;

inline constexpr int kChunkSize = 64;
// Heads that a block takes at once, one to a warpgroup: they share the group's B, C and CB.
inline constexpr int kBlockHeads = 2;

inline constexpr int kWarpLanes = 32;
inline constexpr int kWarpgroupWarps = 4;
inline constexpr int kWarpgroupThreads = kWarpgroupWarps * kWarpLanes;
// The first warpgroup feeds the others.
inline constexpr int kScanThreads = (1 + kBlockHeads) * kWarpgroupThreads;

// A tile: 64 rows of 64 bf16, each row in 8 pieces of 16 bytes, piece p of row r at place p ^ r
// % 8.
inline constexpr int kTileRows = 64;
inline constexpr int kTileColumns = 64;
inline constexpr int kTileRowBytes = kTileColumns * 2;
inline constexpr int kTileBytes = kTileRows * kTileRowBytes;

template <int kHeaddimOfScan, int kDstateOfScan, bool kHasZOfScan, ScanPass kPassOfScan>
struct ScanConfig {
  static constexpr int kHeaddim = kHeaddimOfScan;
  static constexpr int kDstate = kDstateOfScan;
  static constexpr bool kHasZ = kHasZOfScan;
  static constexpr ScanPass kPass = kPassOfScan;
  static constexpr bool kMakesOut = kPass == ScanPass::kOut;

  // The rows of a warpgroup's products are a head's channels.
  static_assert(kHeaddim == 64, "a head is one warpgroup's 64 rows");
  // Only this shape of the product that makes the state is written out.
  static_assert(kDstate == 128, "the state is made in products 128 wide");
  static_assert(kMakesOut || !kHasZ, "z gates out only");
  static_assert(kChunkSize == kTileRows && kHeaddim == kTileColumns);

  // Tiles of 64 columns beside each other in a chunk's B, and in its C.
  static constexpr int kDstateTiles = kDstate / kTileColumns;
  // What a thread of a warpgroup holds of the state and of out, in fp32.
  static constexpr int kStateFloats = kHeaddim * kDstate / kWarpgroupThreads;
  static constexpr int kOutFloats = kHeaddim * kChunkSize / kWarpgroupThreads;

  // Chunks that each ring of shared memory has room for.
  static constexpr int kXStages = !kMakesOut ? 6 : kHasZ ? 3 : 4;
  static constexpr int kZStages = kHasZ ? 2 : 0;
  static constexpr int kBStages = kMakesOut ? 3 : 4;
  static constexpr int kCStages = kMakesOut ? kBStages : 0;  // of C, and of CB
  static constexpr int kOutStages = kMakesOut ? 1 : 0;
  static constexpr int kFactorStages = kHasZ ? 6 : 8;

  // Registers of a thread in the feeding warpgroup and in the others. All start with the same.
  static constexpr int kFeedRegisters = 56;
  static constexpr int kHeadRegisters = 224;
  static_assert(kFeedRegisters % 8 == 0 && kHeadRegisters % 8 == 0);
  static_assert((kFeedRegisters + kBlockHeads * kHeadRegisters) * kWarpgroupThreads <= 65536);
};

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_CONFIG_H_
