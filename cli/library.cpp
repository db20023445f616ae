#include "cli/library.h"

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "cli/error.h"

namespace tilescan::cli {
namespace {

void ThrowUnlessOk(tilescan_status status) {
  if (status == TILESCAN_OK) return;
  throw Error(Concat(tilescan_status_name(status), ": ", tilescan_last_error()));
}

// Describe is called as describe(buffer, capacity) and returns the length it needs.
template <typename Describe>
nlohmann::ordered_json ParseDescription(const Describe& describe) {
  std::string text(describe(nullptr, 0), '\0');
  // The terminating 0 is written over std::string's own.
  describe(text.data(), text.size() + 1);
  return nlohmann::ordered_json::parse(text);
}

}  // namespace

Plan MakePlan(const OperationArgs& args, const tilescan_options& options) {
  tilescan_plan* plan = nullptr;
  if (const auto* scan = std::get_if<tilescan_scan_forward_args>(&args)) {
    ThrowUnlessOk(tilescan_plan_scan_forward(scan, &options, &plan));
  } else {
    const auto* update = std::get_if<tilescan_state_update_args>(&args);
    ThrowUnlessOk(tilescan_plan_state_update(update, &options, &plan));
  }
  return Plan(plan);
}

void RunPlan(const Plan& plan, const OperationArgs& args, void* workspace, size_t workspace_bytes,
             void* stream) {
  if (const auto* scan = std::get_if<tilescan_scan_forward_args>(&args)) {
    ThrowUnlessOk(tilescan_run_scan_forward(plan.get(), scan, workspace, workspace_bytes, stream));
  } else {
    const auto* update = std::get_if<tilescan_state_update_args>(&args);
    ThrowUnlessOk(
        tilescan_run_state_update(plan.get(), update, workspace, workspace_bytes, stream));
  }
}

nlohmann::ordered_json DescribePlan(const Plan& plan) {
  return ParseDescription([&](char* buffer, size_t capacity) {
    return tilescan_plan_describe(plan.get(), buffer, capacity);
  });
}

nlohmann::ordered_json DescribeLibrary() { return ParseDescription(tilescan_info); }

}  // namespace tilescan::cli
