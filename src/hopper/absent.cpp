// The rows of a build for no Hopper GPU.
#include "plan/variant.h"

namespace tilescan::hopper {

std::span<const ScanForwardVariant> ScanForwardVariants() { return {}; }

}  // namespace tilescan::hopper
