#include "cli/timed_run.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "cli/buffer.h"
#include "cli/error.h"
#include "testing/device_copy.h"
#include "testing/timer.h"

namespace tilescan::cli {
namespace {

// run() computes, restore() makes the next run start from the same operands.
template <typename Run, typename Restore>
Timing TimeRuns(int32_t repeats, const Run& run, const Restore& restore) {
  if (repeats > 1) run();
  std::vector<double> times_us;
  for (int32_t repeat = 0; repeat < repeats; ++repeat) {
    restore();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    times_us.push_back(time.count());
  }
  const auto [min, max] = std::minmax_element(times_us.begin(), times_us.end());
  return {testing::Median(times_us), *min, *max, repeats};
}

// The operands on a GPU, and a workspace there.
struct OnDevice {
  OnDevice(const OperationArgs& host_args, size_t workspace_bytes)
      : args(host_args),
        copy(std::visit([](auto& any) { return testing::TensorsOf(&any); }, args)),
        workspace(testing::AllocateOnDevice(std::max<size_t>(workspace_bytes, 1), std::byte{0})) {}

  OperationArgs args;
  testing::DeviceCopy copy;
  testing::DeviceMemory workspace;
};

Timing RunAndTimeOnDevice(const Plan& plan, const OperationArgs& args, int32_t repeats) {
  const size_t workspace_bytes = tilescan_plan_workspace_bytes(plan.get());
  const auto run_on = [&](const OnDevice& there) {
    RunPlan(plan, there.args, there.workspace.get(), workspace_bytes);
    testing::SynchronizeDevice();
  };
  OperationArgs host = args;
  std::vector<tilescan_tensor> outputs;
  for (const Operand& output : OutputOperands(&host)) outputs.push_back(*output.tensor);
  // States that are updated in place change from run to run, which takes the same time.
  const OnDevice timed(args, workspace_bytes);
  const Timing timing = TimeRuns(
      repeats, [&] { run_on(timed); }, [] {});
  if (repeats == 1) {
    timed.copy.Download(outputs);
  } else {
    const OnDevice once(args, workspace_bytes);
    run_on(once);
    once.copy.Download(outputs);
  }
  return timing;
}

}  // namespace

Timing RunAndTime(const Plan& plan, const OperationArgs& args, int32_t repeats,
                  OutputMemory* outputs) {
  const std::string backend = DescribePlan(plan).at("backend");
  if (testing::IsOnDevice(backend.c_str())) {
    try {
      return RunAndTimeOnDevice(plan, args, repeats);
    } catch (const testing::DeviceError& error) {
      throw Error(error.what());
    }
  }
  const Buffer workspace(tilescan_plan_workspace_bytes(plan.get()));
  return TimeRuns(
      repeats, [&] { RunPlan(plan, args, workspace.data(), workspace.num_bytes()); },
      [&] { outputs->Restore(); });
}

}  // namespace tilescan::cli
