#include "testing/run.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "testing/device_copy.h"
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
tilescan_status MakePlan(const tilescan_causal_conv1d_forward_args& args,
                         const tilescan_options& options, tilescan_plan** plan) {
  return tilescan_plan_causal_conv1d_forward(&args, &options, plan);
}
tilescan_status MakePlan(const tilescan_causal_conv1d_update_args& args,
                         const tilescan_options& options, tilescan_plan** plan) {
  return tilescan_plan_causal_conv1d_update(&args, &options, plan);
}
tilescan_status MakePlan(const tilescan_rms_norm_gated_forward_args& args,
                         const tilescan_options& options, tilescan_plan** plan) {
  return tilescan_plan_rms_norm_gated_forward(&args, &options, plan);
}
tilescan_status MakePlan(const tilescan_split_conv1d_scan_forward_args& args,
                         const tilescan_options& options, tilescan_plan** plan) {
  return tilescan_plan_split_conv1d_scan_forward(&args, &options, plan);
}

tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_scan_forward_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_scan_forward(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_state_update_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_state_update(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_causal_conv1d_forward_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_causal_conv1d_forward(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_causal_conv1d_update_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_causal_conv1d_update(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan, const tilescan_rms_norm_gated_forward_args& args,
                        void* workspace, size_t workspace_bytes) {
  return tilescan_run_rms_norm_gated_forward(plan, &args, workspace, workspace_bytes, nullptr);
}
tilescan_status RunPlan(const tilescan_plan* plan,
                        const tilescan_split_conv1d_scan_forward_args& args, void* workspace,
                        size_t workspace_bytes) {
  return tilescan_run_split_conv1d_scan_forward(plan, &args, workspace, workspace_bytes, nullptr);
}

// Laid out "shifted", a tensor of bytes begins one byte behind a boundary, in poison.
HostTensor MakeWorkspace(size_t bytes) {
  return HostTensor(DType::kUInt8, {static_cast<int64_t>(bytes)}, Layout::kShifted);
}

template <typename Args>
void TimedRun(const tilescan_plan* plan, const Args& args, void* workspace, bool is_on_device,
              RunResult* result) {
  const auto start = std::chrono::steady_clock::now();
  result->status = RunPlan(plan, args, workspace, tilescan_plan_workspace_bytes(plan));
  if (is_on_device && result->status == TILESCAN_OK) SynchronizeDevice();
  const auto end = std::chrono::steady_clock::now();
  result->seconds = std::chrono::duration<double>(end - start).count();
  if (result->status != TILESCAN_OK) result->message = tilescan_last_error();
}

template <typename Args>
void RunOnDevice(const tilescan_plan* plan, const Args& args, RunResult* result) {
  const HostTensor workspace =
      MakeWorkspace(std::max<size_t>(tilescan_plan_workspace_bytes(plan), 1));
  tilescan_tensor host_workspace = workspace.Describe();
  Args device_args = args;
  std::vector<tilescan_tensor*> tensors = TensorsOf(&device_args);
  std::vector<tilescan_tensor> host;
  for (const tilescan_tensor* tensor : tensors) host.push_back(*tensor);
  tensors.push_back(&host_workspace);
  try {
    const DeviceCopy copy(tensors);
    TimedRun(plan, device_args, host_workspace.data, true, result);
    copy.Download(host);
    result->surroundings_intact = copy.SurroundingsIntact();
  } catch (const DeviceError& error) {
    result->status = TILESCAN_INTERNAL;
    result->message = error.what();
  }
}

}  // namespace

template <typename Args>
RunResult RunPlanned(const tilescan_plan* plan, const Args& args) {
  RunResult result;
  result.plan.resize(tilescan_plan_describe(plan, nullptr, 0));
  tilescan_plan_describe(plan, result.plan.data(), result.plan.size() + 1);
  const auto described = nlohmann::json::parse(result.plan);
  if (IsOnDevice(described.at("backend").get<std::string>().c_str())) {
    RunOnDevice(plan, args, &result);
    return result;
  }
  const HostTensor workspace = MakeWorkspace(tilescan_plan_workspace_bytes(plan));
  TimedRun(plan, args, workspace.view().data, false, &result);
  result.surroundings_intact = workspace.SurroundingsIntact();
  return result;
}

template <typename Args>
RunResult RunArgs(const Args& args, const tilescan_options& options) {
  tilescan_plan* raw_plan = nullptr;
  const tilescan_status status = MakePlan(args, options, &raw_plan);
  const Plan plan(raw_plan);
  if (status == TILESCAN_OK) return RunPlanned(plan.get(), args);
  RunResult result;
  result.status = status;
  result.surroundings_intact = true;
  result.message = tilescan_last_error();
  return result;
}

template <typename Operands>
RunResult RunCall(const Operands& operands, const tilescan_options& options) {
  RunResult result = RunArgs(MakeArgs(operands), options);
  Operands::ForEach(operands, [&](const char*, const HostTensor& tensor, bool) {
    result.surroundings_intact = result.surroundings_intact && tensor.SurroundingsIntact();
  });
  return result;
}

template RunResult RunCall(const ScanOperands&, const tilescan_options&);
template RunResult RunCall(const StateUpdateOperands&, const tilescan_options&);
template RunResult RunCall(const ConvOperands&, const tilescan_options&);
template RunResult RunCall(const ConvUpdateOperands&, const tilescan_options&);
template RunResult RunCall(const NormOperands&, const tilescan_options&);
template RunResult RunCall(const SplitOperands&, const tilescan_options&);
template RunResult RunArgs(const tilescan_scan_forward_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_scan_forward_args&);
template RunResult RunArgs(const tilescan_state_update_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_state_update_args&);
template RunResult RunArgs(const tilescan_causal_conv1d_forward_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_causal_conv1d_forward_args&);
template RunResult RunArgs(const tilescan_causal_conv1d_update_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_causal_conv1d_update_args&);
template RunResult RunArgs(const tilescan_rms_norm_gated_forward_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_rms_norm_gated_forward_args&);
template RunResult RunArgs(const tilescan_split_conv1d_scan_forward_args&, const tilescan_options&);
template RunResult RunPlanned(const tilescan_plan*, const tilescan_split_conv1d_scan_forward_args&);

}  // namespace tilescan::testing
