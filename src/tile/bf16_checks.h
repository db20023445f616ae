// What the forms of the scan for bf16 operands in whole vectors take.
#ifndef TILESCAN_TILE_BF16_CHECKS_H_
#define TILESCAN_TILE_BF16_CHECKS_H_

#include <cstdint>
#include <string>

#include "core/device_facts.h"
#include "core/scan_forward.h"

namespace tilescan::tile {

inline constexpr int64_t kMostStates = 256;
inline constexpr int64_t kMostStatesOfStream = 128;

// Chunks of all rows of the batch.
int64_t NumSlots(const ScanSizes& sizes);

// For the rows: empty, or to be read after "cannot: ".
std::string ReasonAgainstStagesTiles(const ScanForwardProblem& problem, const DeviceFacts& facts);
std::string ReasonAgainstStreamTiles(const ScanForwardProblem& problem, const DeviceFacts& facts);

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_BF16_CHECKS_H_
