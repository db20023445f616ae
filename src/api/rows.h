// The rows of all backends of this build.
#ifndef TILESCAN_API_ROWS_H_
#define TILESCAN_API_ROWS_H_

#include "plan/planner.h"

namespace tilescan::api {

template <typename Problem>
const plan::RowLists<Problem>& AllRows();

}  // namespace tilescan::api

#endif  // TILESCAN_API_ROWS_H_
