// Descriptions of operands for TMA, made on the host.
#ifndef TILESCAN_HOPPER_TENSOR_MAPS_H_
#define TILESCAN_HOPPER_TENSOR_MAPS_H_

#include <cuda.h>

#include <cstdint>
#include <string>

#include "core/status.h"
#include "core/tensor_view.h"

namespace tilescan::hopper {

// Finds the driver's encoder, which the others need; once.
Status PrepareTensorMaps();

// Empty, or why TMA cannot move tiles of the view, (batch, seqlen, heads or groups, columns) in
// bf16.
std::string ReasonAgainstTiles(const char* name, const TensorView& view);

// For tiles of 64 tokens by 64 columns, of num_at_once heads, groups or row blocks at once. The
// view must have passed ReasonAgainstTiles(), or differ from one that has in the split of its last
// two dimensions.
Status MapTiles(const char* name, const TensorView& view, int32_t num_at_once, CUtensorMap* map);

// For tiles of 64 rows by 64 columns of dense bf16, (num_rows, 64).
Status MapDenseTiles(const char* name, void* data, int64_t num_rows, CUtensorMap* map);

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_TENSOR_MAPS_H_
