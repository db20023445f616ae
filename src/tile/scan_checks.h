// What the forms of the scan in tile programs are bound by.
#ifndef TILESCAN_TILE_SCAN_CHECKS_H_
#define TILESCAN_TILE_SCAN_CHECKS_H_

namespace tilescan::tile {

// A grid's programs, along its first dimension.
inline constexpr double kMostPrograms = 2147483647.0;

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_CHECKS_H_
