// The library's calls as the commands use them: failures are Errors, descriptions are JSON.
#ifndef TILESCAN_CLI_LIBRARY_H_
#define TILESCAN_CLI_LIBRARY_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "cli/operands.h"
#include "tilescan/tilescan.h"

namespace tilescan::cli {

struct PlanDeleter {
  void operator()(tilescan_plan* plan) const { tilescan_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tilescan_plan, PlanDeleter>;

// Throw Error with the library's message if the library refuses.
Plan MakePlan(const OperationArgs& args, const tilescan_options& options);
void RunPlan(const Plan& plan, const OperationArgs& args, void* workspace, size_t workspace_bytes,
             void* stream = nullptr);

// What tilescan_plan_describe() and tilescan_info() say.
nlohmann::ordered_json DescribePlan(const Plan& plan);
nlohmann::ordered_json DescribeLibrary();

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_LIBRARY_H_
