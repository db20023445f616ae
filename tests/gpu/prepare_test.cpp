// Plans made while a stream is being captured, which tilescan_prepare() promises. To be a test of
// the promise it must be the first thing that a process does: tools/gpu_check.sh runs it by itself.
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

class PreparedGpu : public GpuTest {
 protected:
  // More than any of the cases needs.
  static constexpr size_t kWorkspaceBytes = size_t{1} << 29;

  // Whether the kernel takes the case.
  template <typename Case>
  static bool CheckCase(const Case& any_case, const Target& target) {
    auto operands = BuildOperands(any_case);
    DeviceCall call(operands);
    call.AllocateWorkspace(kWorkspaceBytes);
    const tilescan_options options = target.Options();
    bool is_taken = true;
    const DeviceReplay replay([&](void* stream) {
      try {
        const Plan plan(call.args(), &options);
        ASSERT_LE(plan.workspace_bytes(), kWorkspaceBytes);
        EXPECT_EQ(call.Run(plan, stream), TILESCAN_OK) << tilescan_last_error();
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), TILESCAN_UNSUPPORTED) << error.what();
        is_taken = false;
      }
    });
    if (!is_taken) return false;
    replay.Run();
    call.Download();
    ExpectSameBits(operands, Solve(any_case, target), "planned within a capture");
    return true;
  }

  template <typename Case>
  static void CheckTargets(const std::string& operation, const std::vector<Case>& cases) {
    for (const Target& target : DeviceTargets(operation)) {
      int num_taken = 0;
      for (const Case& any_case : cases) {
        SCOPED_TRACE(target.Name() + " on " + any_case.name);
        if (CheckCase(any_case, target)) ++num_taken;
      }
      EXPECT_GT(num_taken, 0) << target.Name() << " takes none of the cases";
    }
  }
};

TEST_F(PreparedGpu, PlansWithinACapture) {
  ASSERT_EQ(tilescan_prepare(-1), TILESCAN_OK) << tilescan_last_error();
  CheckTargets("scan_forward", DeviceScanCases(3100));
  CheckTargets("state_update", DeviceStateUpdateCases(3100));
  CheckTargets("causal_conv1d_forward", DeviceConvCases(3100));
  CheckTargets("causal_conv1d_update", DeviceConvUpdateCases(3100));
  CheckTargets("rms_norm_gated_forward", DeviceNormCases(3100));
  CheckTargets("split_conv1d_scan_forward", DeviceSplitCases(3100));
}

// The current GPU stays current, and every GPU of the machine can be prepared.
TEST_F(PreparedGpu, EveryGpu) {
  const std::string current = DeviceBusId();
  int32_t device = 0;
  while (tilescan_prepare(device) == TILESCAN_OK) {
    ++device;
    EXPECT_EQ(DeviceBusId(), current);
  }
  EXPECT_GT(device, 0) << tilescan_last_error();
  EXPECT_EQ(tilescan_prepare(device), TILESCAN_INVALID_ARGUMENT) << tilescan_last_error();
  EXPECT_EQ(tilescan_prepare(-2), TILESCAN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tilescan::testing
