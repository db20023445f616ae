// The rows of a build without CUDA.
#include "plan/variant.h"

namespace tilescan::tile {

std::span<const ScanForwardVariant> ScanForwardVariants() { return {}; }

}  // namespace tilescan::tile
