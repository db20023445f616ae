#include "testing/run.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>

#include "testing/host_tensor.h"

namespace tilescan::testing {
namespace {

struct DestroyPlan {
  void operator()(tilescan_plan* plan) const { tilescan_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tilescan_plan, DestroyPlan>;

tilescan_status MakePlan(const tilescan_scan_forward_args& args, const tilescan_options& options,
                         tilescan_plan** plan) {
  return tilescan_plan_scan_forward(&args, &options, plan);
}
tilescan_status MakePlan(const tilescan_state_update_args& args, const tilescan_options& options,
                         tilescan_plan** plan) {
  return tilescan_plan_state_update(&args, &options, plan);
}

tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_scan_forward_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_scan_forward(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_state_update_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_state_update(plan, &args, workspace, workspace_bytes, nullptr);
}

template <typename Operands>
RunResult RunThroughInterface(const Operands& operands, const tilescan_options& options) {
  RunResult result;
  const auto args = MakeArgs(operands);
  tilescan_plan* raw_plan = nullptr;
  result.status = MakePlan(args, options, &raw_plan);
  const Plan plan(raw_plan);
  result.surroundings_intact = true;
  if (result.status != TILESCAN_OK) {
    result.message = tilescan_last_error();
    return result;
  }
  result.plan.resize(tilescan_plan_describe(plan.get(), nullptr, 0));
  tilescan_plan_describe(plan.get(), result.plan.data(), result.plan.size() + 1);

  const size_t workspace_bytes = tilescan_plan_workspace_bytes(plan.get());
  // Laid out "shifted", a tensor of bytes begins one byte behind a boundary, in poison.
  const HostTensor workspace(DType::kUInt8, {static_cast<int64_t>(workspace_bytes)},
                             Layout::kShifted);
  const auto start = std::chrono::steady_clock::now();
  result.status = RunPlan(plan.get(), args, workspace.view().data, workspace_bytes);
  const auto end = std::chrono::steady_clock::now();
  result.seconds = std::chrono::duration<double>(end - start).count();
  if (result.status != TILESCAN_OK) result.message = tilescan_last_error();

  result.surroundings_intact = workspace.SurroundingsIntact();
  Operands::ForEach(operands, [&](const char*, const HostTensor& tensor, bool) {
    result.surroundings_intact = result.surroundings_intact && tensor.SurroundingsIntact();
  });
  return result;
}

}  // namespace

RunResult RunCall(const ScanOperands& operands, const tilescan_options& options) {
  return RunThroughInterface(operands, options);
}

RunResult RunCall(const StateUpdateOperands& operands, const tilescan_options& options) {
  return RunThroughInterface(operands, options);
}

}  // namespace tilescan::testing
