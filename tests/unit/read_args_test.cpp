// Structs of callers that were built against another version of the header.
#include "plan/read_args.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "plan/planner.h"
#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

// A caller's struct of any size: memory of just that many bytes, so that AddressSanitizer sees a
// read beyond it.
template <typename Struct>
class SizedStruct {
 public:
  SizedStruct(const Struct& content, size_t size) : bytes_(std::make_unique<std::byte[]>(size)) {
    std::memcpy(bytes_.get(), &content, std::min(size, sizeof(Struct)));
    if (size >= sizeof(size_t)) std::memcpy(bytes_.get(), &size, sizeof(size));
  }
  std::byte& byte(size_t idx) { return bytes_[idx]; }
  const Struct& get() const { return *reinterpret_cast<const Struct*>(bytes_.get()); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

template <typename Args>
std::string ReadMessage(const Args& given, Args* full) {
  Violations violations("operation");
  const bool is_read = ReadArgs(given, full, &violations);
  EXPECT_EQ(is_read, violations.empty());
  return violations.ToStatus().message();
}

TEST(ReadArgs, TakesTheStructOfThisVersion) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.dt_softplus = 1;
  args.dt_limit[0] = 0.25f;
  tilescan_scan_forward_args full;
  EXPECT_EQ(ReadMessage(args, &full), "");
  EXPECT_EQ(full.x.shape[3], 8);
  EXPECT_EQ(full.states_out.ndim, 5);
  EXPECT_EQ(full.states_every, 5);
  EXPECT_EQ(full.dt_softplus, 1);
  EXPECT_EQ(full.dt_limit[0], 0.25f);
}

TEST(ReadArgs, LeavesMissingFieldsAtTheirDefault) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.dt_softplus = 1;
  args.dt_limit[0] = 0.25f;
  args.dt_limit[1] = 0.5f;
  // The caller's struct ends with states_every.
  const SizedStruct older(args, offsetof(tilescan_scan_forward_args, dt_softplus));
  tilescan_scan_forward_args full;
  EXPECT_EQ(ReadMessage(older.get(), &full), "");
  EXPECT_EQ(full.states_every, 5);
  EXPECT_EQ(full.dt_softplus, 0);
  EXPECT_EQ(full.dt_limit[0], 0.0f);
  EXPECT_EQ(full.dt_limit[1], INFINITY);
}

TEST(ReadArgs, TakesNoPartOfAField) {
  const tilescan_scan_forward_args args = ExamplePacked();
  const SizedStruct older(args, offsetof(tilescan_scan_forward_args, states_out) + 40);
  tilescan_scan_forward_args full;
  EXPECT_EQ(ReadMessage(older.get(), &full), "");
  EXPECT_EQ(full.final_states.ndim, 4);
  EXPECT_EQ(full.states_out.ndim, 0);
  EXPECT_EQ(full.states_out.dtype.bits, 0);
}

TEST(ReadArgs, DoesTheSameForStateUpdate) {
  tilescan_state_update_args args = ExampleStateUpdateTokens();
  args.dt_softplus = 1;
  const SizedStruct older(args, offsetof(tilescan_state_update_args, out));
  tilescan_state_update_args full;
  EXPECT_EQ(ReadMessage(older.get(), &full), "");
  EXPECT_EQ(full.num_accepted.ndim, 1);
  EXPECT_EQ(full.out.dtype.bits, 0);
  EXPECT_EQ(full.dt_softplus, 0);
  EXPECT_EQ(full.dt_limit[1], INFINITY);
}

TEST(ReadArgs, DoesTheSameForOperationsAroundTheScan) {
  tilescan_causal_conv1d_forward_args conv = ExampleConv();
  conv.activation = TILESCAN_ACTIVATION_SILU;
  tilescan_causal_conv1d_forward_args full_conv;
  EXPECT_EQ(ReadMessage(conv, &full_conv), "");
  EXPECT_EQ(full_conv.activation, TILESCAN_ACTIVATION_SILU);
  const SizedStruct older_conv(conv, offsetof(tilescan_causal_conv1d_forward_args, final_states));
  EXPECT_EQ(ReadMessage(older_conv.get(), &full_conv), "");
  EXPECT_EQ(full_conv.out.ndim, 3);
  EXPECT_EQ(full_conv.final_states.ndim, 0);
  EXPECT_EQ(full_conv.activation, TILESCAN_ACTIVATION_NONE);

  const SizedStruct older_update(ExampleConvUpdate(),
                                 offsetof(tilescan_causal_conv1d_update_args, out));
  tilescan_causal_conv1d_update_args full_update;
  EXPECT_EQ(ReadMessage(older_update.get(), &full_update), "");
  EXPECT_EQ(full_update.cache_seqlens.ndim, 1);
  EXPECT_EQ(full_update.out.ndim, 0);

  tilescan_rms_norm_gated_forward_args norm = ExampleNorm();
  norm.eps = 1e-3f;
  norm.norm_before_gate = 1;
  tilescan_rms_norm_gated_forward_args full_norm;
  EXPECT_EQ(ReadMessage(norm, &full_norm), "");
  EXPECT_EQ(full_norm.eps, 1e-3f);
  EXPECT_EQ(full_norm.norm_before_gate, 1);
  const SizedStruct older_norm(norm, offsetof(tilescan_rms_norm_gated_forward_args, eps));
  EXPECT_EQ(ReadMessage(older_norm.get(), &full_norm), "");
  EXPECT_EQ(full_norm.group_size, 3);
  EXPECT_EQ(full_norm.eps, 1e-5f);
  EXPECT_EQ(full_norm.norm_before_gate, 0);
}

TEST(ReadArgs, DoesTheSameForALayer) {
  tilescan_split_conv1d_scan_forward_args args = ExampleSplit();
  args.dt_softplus = 1;
  args.rmsnorm_eps = 0.25f;
  tilescan_split_conv1d_scan_forward_args full;
  EXPECT_EQ(ReadMessage(args, &full), "");
  EXPECT_EQ(full.final_states.ndim, 4);
  EXPECT_EQ(full.ngroups, 3);
  EXPECT_EQ(full.rmsnorm_eps, 0.25f);
  EXPECT_EQ(full.dt_softplus, 1);
  const SizedStruct older(args, offsetof(tilescan_split_conv1d_scan_forward_args, ngroups));
  EXPECT_EQ(ReadMessage(older.get(), &full), "");
  EXPECT_EQ(full.final_states.ndim, 4);
  EXPECT_EQ(full.ngroups, 1);
  EXPECT_EQ(full.group_size, 0);
  EXPECT_EQ(full.rmsnorm_eps, 1e-5f);
  EXPECT_EQ(full.norm_before_gate, 0);
  EXPECT_EQ(full.activation, TILESCAN_ACTIVATION_NONE);
  EXPECT_EQ(full.dt_softplus, 0);
  EXPECT_EQ(full.dt_limit[1], INFINITY);
}

TEST(ReadArgs, AcceptsALargerStructThatEndsWithZeros) {
  const SizedStruct later(ExampleStateUpdate(), sizeof(tilescan_state_update_args) + 24);
  tilescan_state_update_args full;
  EXPECT_EQ(ReadMessage(later.get(), &full), "");
  EXPECT_EQ(full.x.ndim, 3);
}

TEST(ReadArgs, RefusesALargerStructThatSetsMore) {
  const size_t known = sizeof(tilescan_state_update_args);
  SizedStruct later(ExampleStateUpdate(), known + 24);
  later.byte(known + 23) = std::byte{1};
  tilescan_state_update_args full;
  EXPECT_EQ(ReadMessage(later.get(), &full),
            "operation: args.struct_size is " + std::to_string(known + 24) + ", expected " +
                std::to_string(known) +
                ", or zeros beyond: they set what this version of the library lacks");
}

TEST(ReadArgs, RefusesAStructThatWasNotInitialised) {
  for (const size_t size : {size_t{0}, size_t{7}, size_t{65537}, ~size_t{0}}) {
    tilescan_scan_forward_args args = ExampleScanForward();
    args.struct_size = size;
    tilescan_scan_forward_args full;
    EXPECT_EQ(ReadMessage(args, &full), "operation: args.struct_size is " + std::to_string(size) +
                                            ", expected " + std::to_string(sizeof(args)) +
                                            " as its init function sets it");
  }
}

// ---- options ----

std::string OptionsMessage(const tilescan_options& options) {
  Violations violations("operation");
  ReadOptions(&options, &violations);
  return violations.ToStatus().message();
}

tilescan_options DefaultOptions() {
  tilescan_options options = {};
  options.struct_size = sizeof(options);
  return options;
}

TEST(ReadOptions, NullMeansDefaults) {
  Violations violations("operation");
  const Options options = ReadOptions(nullptr, &violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(options.backend, "");
  EXPECT_EQ(options.kernel, "");
  EXPECT_EQ(options.instruction_set, "");
  EXPECT_EQ(options.chunk_size, 0);
  EXPECT_EQ(options.num_threads, 0);
  EXPECT_EQ(options.executor, nullptr);
  EXPECT_FALSE(options.check_indices);
}

TEST(ReadOptions, ReadsEveryField) {
  const tilescan_executor executor = {nullptr, [](void*, int32_t, tilescan_task, void*) {}};
  tilescan_options given = DefaultOptions();
  given.backend = "cpu";
  given.kernel = "some kernel";
  given.instruction_set = "avx2";
  given.chunk_size = 64;
  given.num_threads = 3;
  given.executor = &executor;
  given.check_indices = 1;
  Violations violations("operation");
  const Options options = ReadOptions(&given, &violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(options.backend, "cpu");
  EXPECT_EQ(options.kernel, "some kernel");
  EXPECT_EQ(options.instruction_set, "avx2");
  EXPECT_EQ(options.chunk_size, 64);
  EXPECT_EQ(options.num_threads, 3);
  EXPECT_EQ(options.executor, &executor);
  EXPECT_TRUE(options.check_indices);
}

TEST(ReadOptions, LeavesMissingFieldsAtTheirDefault) {
  tilescan_options given = DefaultOptions();
  given.chunk_size = 64;
  given.num_threads = 3;
  given.check_indices = 1;
  const SizedStruct older(given, offsetof(tilescan_options, num_threads));
  Violations violations("operation");
  const Options options = ReadOptions(&older.get(), &violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(options.chunk_size, 64);
  EXPECT_EQ(options.num_threads, 0);
  EXPECT_FALSE(options.check_indices);
}

TEST(ReadOptions, RefusesAStructThatWasNotInitialised) {
  const tilescan_options options = {};
  EXPECT_EQ(OptionsMessage(options), "operation: options.struct_size is 0, expected " +
                                         std::to_string(sizeof(options)) +
                                         " as its init function sets it");
}

TEST(ReadOptions, RefusesANegativeChunkSize) {
  tilescan_options options = DefaultOptions();
  options.chunk_size = -1;
  EXPECT_EQ(OptionsMessage(options),
            "operation: options.chunk_size is -1, expected 0 (choose) or more");
}

TEST(ReadOptions, RefusesThreadsOutOfRange) {
  for (const int32_t num_threads : {-1, 1025}) {
    tilescan_options options = DefaultOptions();
    options.num_threads = num_threads;
    EXPECT_EQ(OptionsMessage(options), "operation: options.num_threads is " +
                                           std::to_string(num_threads) +
                                           ", expected 0 (all) to 1024");
  }
}

TEST(ReadOptions, RefusesACheckThatIsNoTruthValue) {
  tilescan_options options = DefaultOptions();
  options.check_indices = 2;
  EXPECT_EQ(OptionsMessage(options), "operation: options.check_indices is 2, expected 0 or 1");
}

TEST(ReadOptions, RefusesAnEmptyExecutor) {
  const tilescan_executor executor = {};
  tilescan_options options = DefaultOptions();
  options.executor = &executor;
  EXPECT_EQ(OptionsMessage(options), "operation: options.executor has no parallel_for");
}

}  // namespace
}  // namespace tilescan::plan
