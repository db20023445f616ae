// What a plan would run, and what the library and the machine are, as JSON text. The keys are those
// that include/tilescan/tilescan.h names.
#ifndef TILESCAN_PLAN_DESCRIBE_H_
#define TILESCAN_PLAN_DESCRIBE_H_

#include <string>

#include "core/device_facts.h"
#include "plan/plan.h"
#include "plan/planner.h"

namespace tilescan::plan {

std::string DescribePlan(const Plan& plan);

std::string DescribeLibrary(const DeviceFacts& facts, const AllRowLists& row_lists);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_DESCRIBE_H_
