// Runs a plan.
#ifndef TILESCAN_PLAN_RUN_H_
#define TILESCAN_PLAN_RUN_H_

#include <cstddef>

#include "core/status.h"
#include "plan/check_device_indices.h"
#include "plan/plan.h"

namespace tilescan::plan {

// The caller's workspace and stream.
struct Place {
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  void* stream = nullptr;
  ReadDevice* read_device = nullptr;  // for plans that check indices on a GPU
};

// Checks that the args are as planned, that the operands have data, aligned and apart, and that the
// workspace is large enough; then runs. Allocates nothing unless something is wrong, or indices are
// checked on a GPU.
template <typename Problem>
Status RunPlan(const Plan& plan, const typename Operation<Problem>::Args& args, const Place& place);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_RUN_H_
