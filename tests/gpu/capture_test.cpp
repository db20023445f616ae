// Runs captured in a CUDA graph: the first of a plan, replayed with the operands it was captured
// with and with others, with the bits of runs that are not captured.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/device_replay.h"
#include "tests/expect_run.h"
#include "tests/gpu/device_call.h"
#include "tests/gpu/device_cases.h"
#include "tests/gpu/gpu.h"

namespace tilescan::testing {
namespace {

class CaptureOnGpu : public GpuTest {
 protected:
  // first and second: two problems that differ in numbers only. False: the target does not take
  // them.
  template <typename Case>
  static bool CheckReplays(const Case& first, const Case& second, const Target& target) {
    auto operands = BuildOperands(first);
    DeviceCall call(operands);
    const tilescan_options options = target.Options();
    std::optional<Plan> plan;
    try {
      plan.emplace(call.args(), &options);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), TILESCAN_UNSUPPORTED) << error.what();
      return false;
    }
    call.AllocateWorkspace(plan->workspace_bytes());
    const DeviceReplay replay([&](void* stream) {
      EXPECT_EQ(call.Run(*plan, stream), TILESCAN_OK) << tilescan_last_error();
    });
    replay.Run();
    call.Download();
    ExpectSameBits(operands, Solve(first, target), "first replay");

    call.Upload(BuildOperands(second));
    replay.Run();
    call.Download();
    ExpectSameBits(operands, Solve(second, target), "second replay, other operands");
    EXPECT_TRUE(call.SurroundingsIntact());
    return true;
  }

  template <typename Case>
  static void CheckTargets(const std::string& operation, const std::vector<Case>& firsts,
                           const std::vector<Case>& seconds) {
    const std::vector<Target> targets = DeviceTargets(operation);
    EXPECT_FALSE(targets.empty());
    for (const Target& target : targets) {
      int num_taken = 0;
      for (size_t idx = 0; idx < firsts.size(); ++idx) {
        SCOPED_TRACE(target.Name() + " on " + firsts[idx].name);
        if (CheckReplays(firsts[idx], seconds[idx], target)) ++num_taken;
      }
      EXPECT_GT(num_taken, 0) << target.Name() << " takes none of the cases";
    }
  }
};

TEST_F(CaptureOnGpu, ScanForward) {
  CheckTargets("scan_forward", DeviceScanCases(3000), DeviceScanCases(3001));
}

TEST_F(CaptureOnGpu, StateUpdate) {
  CheckTargets("state_update", DeviceStateUpdateCases(3000), DeviceStateUpdateCases(3001));
}

TEST_F(CaptureOnGpu, CausalConv1dForward) {
  CheckTargets("causal_conv1d_forward", DeviceConvCases(3000), DeviceConvCases(3001));
}

TEST_F(CaptureOnGpu, CausalConv1dUpdate) {
  CheckTargets("causal_conv1d_update", DeviceConvUpdateCases(3000), DeviceConvUpdateCases(3001));
}

TEST_F(CaptureOnGpu, RmsNormGatedForward) {
  CheckTargets("rms_norm_gated_forward", DeviceNormCases(3000), DeviceNormCases(3001));
}

TEST_F(CaptureOnGpu, SplitConv1dScanForward) {
  CheckTargets("split_conv1d_scan_forward", DeviceSplitCases(3000), DeviceSplitCases(3001));
}

}  // namespace
}  // namespace tilescan::testing
