// The C interface: statuses and messages, and that nothing is touched when a call fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/last_error.h"
#include "api/rows.h"
#include "tilescan/tilescan.h"

namespace tilescan {
namespace {

using nlohmann::json;

constexpr int64_t kSeqlen = 70, kNheads = 4, kHeaddim = 6, kNgroups = 2, kDstate = 5;
constexpr float kUntouched = -77.0f;

// A small scan with data.
struct SmallScan {
  std::vector<float> x = std::vector<float>(kSeqlen * kNheads * kHeaddim, 0.5f);
  std::vector<float> dt = std::vector<float>(kSeqlen * kNheads, 0.25f);
  std::vector<float> A = std::vector<float>(kNheads, -1.0f);
  std::vector<float> B = std::vector<float>(kSeqlen * kNgroups * kDstate, 1.0f);
  std::vector<float> C = B;
  std::vector<float> out = std::vector<float>(x.size(), kUntouched);
  tilescan_scan_forward_args args;

  SmallScan() {
    tilescan_scan_forward_args_init(&args);
    const int64_t x_shape[] = {1, kSeqlen, kNheads, kHeaddim};
    const int64_t B_shape[] = {1, kSeqlen, kNgroups, kDstate};
    args.x = tilescan_contiguous(x.data(), tilescan_float32(), 4, x_shape);
    args.dt = tilescan_contiguous(dt.data(), tilescan_float32(), 3, x_shape);
    args.A = tilescan_contiguous(A.data(), tilescan_float32(), 1, x_shape + 2);
    args.B = tilescan_contiguous(B.data(), tilescan_float32(), 4, B_shape);
    args.C = tilescan_contiguous(C.data(), tilescan_float32(), 4, B_shape);
    args.out = tilescan_contiguous(out.data(), tilescan_float32(), 4, x_shape);
  }

  bool is_out_untouched() const { return out == std::vector<float>(out.size(), kUntouched); }
};

struct OwnedPlan {
  tilescan_plan* plan = nullptr;
  ~OwnedPlan() { tilescan_plan_destroy(plan); }
};

std::string LastError() { return tilescan_last_error(); }

// x = 1/2, B = C = 1, dt A = -1/4 everywhere: the sum of a geometric series.
float ExpectedOut(int64_t token) {
  const double decay = std::exp(-0.25);
  const double sum = (1 - std::pow(decay, double(token + 1))) / (1 - decay);
  return static_cast<float>(kDstate * 0.25 * 0.5 * sum);
}

TEST(Status, HasANameForEach) {
  EXPECT_STREQ(tilescan_status_name(TILESCAN_OK), "ok");
  EXPECT_STREQ(tilescan_status_name(TILESCAN_INVALID_ARGUMENT), "invalid argument");
  EXPECT_STREQ(tilescan_status_name(TILESCAN_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(tilescan_status_name(TILESCAN_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(tilescan_status_name(TILESCAN_INTERNAL), "internal error");
  EXPECT_STREQ(tilescan_status_name(static_cast<tilescan_status>(99)), "unknown status");
}

TEST(Version, IsThatOfTheHeader) {
  EXPECT_STREQ(tilescan_version(), TILESCAN_VERSION_STRING);
  const std::string expected = std::to_string(TILESCAN_VERSION_MAJOR) + "." +
                               std::to_string(TILESCAN_VERSION_MINOR) + "." +
                               std::to_string(TILESCAN_VERSION_PATCH);
  EXPECT_EQ(expected, TILESCAN_VERSION_STRING);
}

TEST(Init, SetsDefaultsWhateverWasThere) {
  tilescan_scan_forward_args scan;
  std::memset(&scan, 0xff, sizeof(scan));
  tilescan_scan_forward_args_init(&scan);
  EXPECT_EQ(scan.struct_size, sizeof(scan));
  EXPECT_EQ(scan.x.dtype.bits, 0);
  EXPECT_EQ(scan.x.data, nullptr);
  EXPECT_EQ(scan.states_every, 0);
  EXPECT_EQ(scan.dt_softplus, 0);
  EXPECT_EQ(scan.dt_limit[0], 0.0f);
  EXPECT_EQ(scan.dt_limit[1], INFINITY);
  tilescan_state_update_args update;
  std::memset(&update, 0xff, sizeof(update));
  tilescan_state_update_args_init(&update);
  EXPECT_EQ(update.struct_size, sizeof(update));
  EXPECT_EQ(update.out.ndim, 0);
  EXPECT_EQ(update.dt_limit[1], INFINITY);
  tilescan_causal_conv1d_forward_args conv;
  std::memset(&conv, 0xff, sizeof(conv));
  tilescan_causal_conv1d_forward_args_init(&conv);
  EXPECT_EQ(conv.struct_size, sizeof(conv));
  EXPECT_EQ(conv.final_states.ndim, 0);
  EXPECT_EQ(conv.activation, TILESCAN_ACTIVATION_NONE);
  tilescan_causal_conv1d_update_args conv_update;
  std::memset(&conv_update, 0xff, sizeof(conv_update));
  tilescan_causal_conv1d_update_args_init(&conv_update);
  EXPECT_EQ(conv_update.struct_size, sizeof(conv_update));
  EXPECT_EQ(conv_update.activation, TILESCAN_ACTIVATION_NONE);
  tilescan_rms_norm_gated_forward_args norm;
  std::memset(&norm, 0xff, sizeof(norm));
  tilescan_rms_norm_gated_forward_args_init(&norm);
  EXPECT_EQ(norm.struct_size, sizeof(norm));
  EXPECT_EQ(norm.group_size, 0);
  EXPECT_EQ(norm.eps, 1e-5f);
  EXPECT_EQ(norm.norm_before_gate, 0);
  tilescan_split_conv1d_scan_forward_args split;
  std::memset(&split, 0xff, sizeof(split));
  tilescan_split_conv1d_scan_forward_args_init(&split);
  EXPECT_EQ(split.struct_size, sizeof(split));
  EXPECT_EQ(split.conv_final_states.ndim, 0);
  EXPECT_EQ(split.ngroups, 1);
  EXPECT_EQ(split.group_size, 0);
  EXPECT_EQ(split.rmsnorm_eps, 1e-5f);
  EXPECT_EQ(split.dt_limit[1], INFINITY);
  tilescan_options options;
  std::memset(&options, 0xff, sizeof(options));
  tilescan_options_init(&options);
  EXPECT_EQ(options.struct_size, sizeof(options));
  EXPECT_EQ(options.backend, nullptr);
  EXPECT_EQ(options.executor, nullptr);
  EXPECT_EQ(options.check_indices, 0);
}

// A header's structs, of a version with fewer fields or with more, in memory that goes on behind
// them.
TEST(Init, KeepsToTheCallersSize) {
  constexpr size_t kRoom = 256;
  static_assert(sizeof(tilescan_options) + 16 <= kRoom);
  for (const size_t size : {offsetof(tilescan_options, check_indices), sizeof(tilescan_options),
                            sizeof(tilescan_options) + 16}) {
    alignas(tilescan_options) unsigned char room[kRoom];
    std::memset(room, 0xff, sizeof(room));
    auto* options = reinterpret_cast<tilescan_options*>(room);
    tilescan_options_init_sized(options, size);
    EXPECT_EQ(options->struct_size, size);
    EXPECT_EQ(options->backend, nullptr);
    EXPECT_EQ(options->executor, nullptr);
    // Fields that this library does not know, then what is not the struct's.
    for (size_t idx = std::min(size, sizeof(tilescan_options)); idx < kRoom; ++idx) {
      EXPECT_EQ(room[idx], idx < size ? 0 : 0xff) << "byte " << idx << " of " << size;
    }
  }
}

TEST(Init, AllowsNull) {
  tilescan_scan_forward_args_init(nullptr);
  tilescan_state_update_args_init(nullptr);
  tilescan_options_init(nullptr);
  tilescan_plan_destroy(nullptr);
}

TEST(Plan, FailsOnNullPointers) {
  SmallScan scan;
  OwnedPlan owned;
  EXPECT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, nullptr), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "scan_forward: plan is NULL");
  EXPECT_EQ(tilescan_plan_scan_forward(nullptr, nullptr, &owned.plan), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "scan_forward: args is NULL");
  EXPECT_EQ(tilescan_plan_state_update(nullptr, nullptr, &owned.plan), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "state_update: args is NULL");
  EXPECT_EQ(tilescan_run_scan_forward(nullptr, &scan.args, nullptr, 0, nullptr),
            TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "scan_forward: plan is NULL");
  EXPECT_EQ(tilescan_run_state_update(nullptr, nullptr, nullptr, 0, nullptr),
            TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "state_update: plan is NULL");
  EXPECT_EQ(tilescan_plan_workspace_bytes(nullptr), 0u);
  EXPECT_EQ(LastError(), "plan_workspace_bytes: plan is NULL");
  char buffer[4] = "abc";
  EXPECT_EQ(tilescan_plan_describe(nullptr, buffer, sizeof(buffer)), 0u);
  EXPECT_STREQ(buffer, "");
  EXPECT_EQ(LastError(), "plan_describe: plan is NULL");
}

TEST(Plan, FailsOnNullArgsWhenRunning) {
  SmallScan scan;
  OwnedPlan owned;
  ASSERT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
  EXPECT_EQ(tilescan_run_scan_forward(owned.plan, nullptr, nullptr, 0, nullptr),
            TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError(), "scan_forward: args is NULL");
}

TEST(Plan, IsNullAfterFailure) {
  SmallScan scan;
  scan.args.dt_softplus = 3;
  tilescan_plan* plan = reinterpret_cast<tilescan_plan*>(&scan);
  EXPECT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &plan), TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(LastError(), "scan_forward: dt_softplus is 3, expected 0 or 1");
}

TEST(Plan, TouchesNoMemory) {
  SmallScan scan;
  for (tilescan_tensor* tensor : {&scan.args.x, &scan.args.B, &scan.args.out}) {
    tensor->data = nullptr;
  }
  OwnedPlan owned;
  EXPECT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
}

TEST(Plan, RefusesFloat64OnTheCpuBackend) {
  SmallScan scan;
  for (tilescan_tensor* tensor : {&scan.args.x, &scan.args.B, &scan.args.C, &scan.args.out}) {
    tensor->dtype = tilescan_float64();
  }
  tilescan_options options;
  tilescan_options_init(&options);
  options.backend = "cpu";
  OwnedPlan owned;
  EXPECT_EQ(tilescan_plan_scan_forward(&scan.args, &options, &owned.plan), TILESCAN_UNSUPPORTED);
  EXPECT_NE(LastError().find("float64"), std::string::npos) << LastError();
  EXPECT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
}

TEST(LastErrorMessage, OutlivesCallsThatSucceed) {
  SmallScan scan;
  OwnedPlan owned;
  tilescan_plan_scan_forward(nullptr, nullptr, &owned.plan);
  ASSERT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
  EXPECT_EQ(LastError(), "scan_forward: args is NULL");
}

TEST(LastErrorMessage, IsTheThreadsOwn) {
  OwnedPlan owned;
  tilescan_plan_scan_forward(nullptr, nullptr, &owned.plan);
  std::string at_start;
  std::string after_failure;
  std::thread other([&] {
    at_start = tilescan_last_error();
    tilescan_run_state_update(nullptr, nullptr, nullptr, 0, nullptr);
    after_failure = tilescan_last_error();
  });
  other.join();
  EXPECT_EQ(at_start, "");
  EXPECT_EQ(after_failure, "state_update: plan is NULL");
  EXPECT_EQ(LastError(), "scan_forward: args is NULL");
}

TEST(Guard, TurnsExceptionsIntoStatuses) {
  EXPECT_EQ(api::Guard([]() -> Status { throw std::bad_alloc(); }), TILESCAN_OUT_OF_MEMORY);
  EXPECT_EQ(LastError(), "out of memory");
  EXPECT_EQ(api::Guard([]() -> Status { throw std::runtime_error("a fault"); }), TILESCAN_INTERNAL);
  EXPECT_EQ(LastError(), "a fault");
  EXPECT_EQ(api::Guard([]() -> Status { throw 1; }), TILESCAN_INTERNAL);
  EXPECT_EQ(LastError(), "unknown exception");
  EXPECT_EQ(api::Guard([] { return Status::Unsupported("not here"); }), TILESCAN_UNSUPPORTED);
  EXPECT_EQ(LastError(), "not here");
}

TEST(Run, LeavesOutAloneWhenItFails) {
  SmallScan scan;
  OwnedPlan owned;
  ASSERT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
  EXPECT_EQ(tilescan_run_scan_forward(owned.plan, &scan.args, nullptr, 0, &scan),
            TILESCAN_INVALID_ARGUMENT);
  EXPECT_EQ(LastError().find("scan_forward: stream is not NULL"), 0u);
  EXPECT_TRUE(scan.is_out_untouched());
}

// Every row of this build for CPUs computes the same small scan, in a workspace of just the size
// asked for.
TEST(Run, ComputesWithEveryRow) {
  int num_run = 0;
  for (const auto& rows : api::AllRows<ScanForwardProblem>()) {
    for (const ScanForwardVariant& row : rows) {
      if (row.takes_stream) continue;  // its memory is a GPU's
      SmallScan scan;
      tilescan_options options;
      tilescan_options_init(&options);
      options.backend = row.backend;
      options.kernel = row.name;
      options.instruction_set = *row.instruction_set == '\0' ? nullptr : row.instruction_set;
      OwnedPlan owned;
      const tilescan_status planned = tilescan_plan_scan_forward(&scan.args, &options, &owned.plan);
      if (planned == TILESCAN_UNSUPPORTED) continue;  // an instruction set of another machine
      ASSERT_EQ(planned, TILESCAN_OK) << LastError();
      const size_t workspace_bytes = tilescan_plan_workspace_bytes(owned.plan);
      const std::unique_ptr<std::byte[]> workspace(new std::byte[workspace_bytes]);
      ASSERT_EQ(tilescan_run_scan_forward(owned.plan, &scan.args, workspace.get(), workspace_bytes,
                                          nullptr),
                TILESCAN_OK)
          << LastError();
      for (int64_t token = 0; token < kSeqlen; ++token) {
        // Five sums of at most 70 terms each in fp32: 1e-5 of the value is above any rounding.
        EXPECT_NEAR(scan.out[static_cast<size_t>(token * kNheads * kHeaddim)], ExpectedOut(token),
                    1e-5f * ExpectedOut(token))
            << row.backend << "/" << row.name << "/" << row.instruction_set;
      }
      ++num_run;
    }
  }
  EXPECT_GE(num_run, 3);
}

// What tilescan_info() says of the GPU.
json InfoOfCuda() {
  std::string text(tilescan_info(nullptr, 0), '\0');
  tilescan_info(text.data(), text.size() + 1);
  return json::parse(text).at("cuda");
}

TEST(Prepare, LoadsOntoTheGpuOrSaysWhyThereIsNone) {
  const json cuda = InfoOfCuda();
  const bool has_gpu = cuda.at("available").get<bool>();
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(tilescan_prepare(-1), has_gpu ? TILESCAN_OK : TILESCAN_UNSUPPORTED);
    if (has_gpu) continue;
    EXPECT_EQ(LastError(), "prepare: " + cuda.at("reason").get<std::string>());
  }
}

TEST(Prepare, RefusesAGpuThatIsNotThere) {
  const tilescan_status expected =
      InfoOfCuda().at("available") ? TILESCAN_INVALID_ARGUMENT : TILESCAN_UNSUPPORTED;
  EXPECT_EQ(tilescan_prepare(1000), expected);
  EXPECT_EQ(LastError().rfind("prepare: ", 0), 0u) << LastError();
}

TEST(Prepare, CanDoSoForEveryGpuKernel) {
  for (const auto& rows : api::AllRows<ScanForwardProblem>()) {
    for (const auto& row : rows) {
      EXPECT_EQ(row.prepare_all != nullptr, row.takes_stream) << row.name;
    }
  }
  for (const auto& rows : api::AllRows<StateUpdateProblem>()) {
    for (const auto& row : rows) {
      EXPECT_EQ(row.prepare_all != nullptr, row.takes_stream) << row.name;
    }
  }
}

TEST(Describe, CutsTheTextToTheBuffer) {
  const size_t length = tilescan_info(nullptr, 0);
  ASSERT_GT(length, 10u);
  std::vector<char> buffer(length + 1, '#');
  EXPECT_EQ(tilescan_info(buffer.data(), buffer.size()), length);
  const std::string text = buffer.data();
  EXPECT_EQ(text.size(), length);
  EXPECT_TRUE(json::parse(text).contains("backends"));

  std::vector<char> small(8, '#');
  EXPECT_EQ(tilescan_info(small.data(), 6), length);
  EXPECT_EQ(std::string(small.data()), text.substr(0, 5));
  EXPECT_EQ(small[6], '#');
}

TEST(Describe, NamesRowsThatPlansTake) {
  SmallScan scan;
  OwnedPlan owned;
  ASSERT_EQ(tilescan_plan_scan_forward(&scan.args, nullptr, &owned.plan), TILESCAN_OK);
  std::vector<char> buffer(tilescan_plan_describe(owned.plan, nullptr, 0) + 1);
  tilescan_plan_describe(owned.plan, buffer.data(), buffer.size());
  const json described = json::parse(buffer.data());
  EXPECT_EQ(described["backend"], "cpu");
  EXPECT_EQ(described["sizes"]["seqlen"], kSeqlen);
  EXPECT_EQ(described["workspace_bytes"], tilescan_plan_workspace_bytes(owned.plan));
}

}  // namespace
}  // namespace tilescan
