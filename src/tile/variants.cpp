// The scan's tile programs as rows for the planner.
#include <array>

#include "plan/variant.h"
#include "tile/scan_forward.h"

namespace tilescan::tile {

std::span<const ScanForwardVariant> ScanForwardVariants() {
  static const std::array rows = {StreamTiles(), StagesTiles(), GeneralTiles()};
  return rows;
}

}  // namespace tilescan::tile
