// How strided views lie in memory. Views have at most 2^46 elements and a span that fits in int64
// (plan/read_operands.h sees to it). Nothing here allocates.
#ifndef TILESCAN_PLAN_LAYOUT_H_
#define TILESCAN_PLAN_LAYOUT_H_

#include "core/tensor_view.h"

namespace tilescan::plan {

// Whether two indices of the view may name the same element: false is certain; true also for
// interleaved strides, like shape (2, 3) with strides (3, 2), that slicing and transposing an array
// never gives.
bool MayOverlapItself(const TensorView& view);

// Whether the views share memory for certain: they do not when they merely interleave, like two
// slices of the rows of one array. Both have their data.
bool CertainlyOverlap(const TensorView& first, const TensorView& second);

// Same dtype, shape and strides (where a stride counts: not in a dimension of size 1).
bool SameLayout(const TensorView& first, const TensorView& second);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_LAYOUT_H_
