// The rows of all backends of this build, and what is known of the machine.
#ifndef TILESCAN_API_ROWS_H_
#define TILESCAN_API_ROWS_H_

#include "plan/planner.h"

namespace tilescan::api {

template <typename Problem>
const typename plan::RowsOf<Problem>::Type& AllRows();

plan::AllRowLists RowsOfAllOperations();

const DeviceFacts& Facts();

}  // namespace tilescan::api

#endif  // TILESCAN_API_ROWS_H_
