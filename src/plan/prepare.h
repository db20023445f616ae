// Prepares kernels for any problem.
#ifndef TILESCAN_PLAN_PREPARE_H_
#define TILESCAN_PLAN_PREPARE_H_

#include "core/device_facts.h"
#include "core/status.h"
#include "plan/planner.h"

namespace tilescan::plan {

// Calls each row's prepare_all, on the calling thread's current GPU. Unsupported if it is none that
// can be used.
Status PrepareRows(const DeviceFacts& facts, const AllRowLists& row_lists);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_PREPARE_H_
