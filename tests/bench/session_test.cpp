// The measuring of cases, with samples too short to say anything: what is checked, and what results
// hold.
#include "bench/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace tilescan::bench {
namespace {

using testing::ModelPreset;
using testing::Result;

constexpr ModelPreset kTiny = {"tiny", 4, 8, 16, 2, 64, 3};

BenchOptions QuickOptions(const std::string& peer_path) {
  BenchOptions options;
  options.num_rounds = 2;
  options.policy = {1, 0.0005, 0.0, 0.0};
  options.target.num_threads = 1;
  options.peer_path = peer_path;
  return options;
}

void ExpectOwn(const Result& result, const std::string& case_name, const std::string& operation) {
  EXPECT_EQ(result.case_name, case_name);
  EXPECT_EQ(result.operation, operation);
  EXPECT_EQ(result.implementation, "tilescan");
  EXPECT_EQ(result.preset, "tiny");
  EXPECT_EQ(result.timing.repeats, 2);
  EXPECT_GT(result.timing.min_us, 0.0);
  EXPECT_GT(result.figures.at("ns_per_token_head"), 0.0);
  EXPECT_EQ(result.kernel.rfind("cpu/", 0), 0u) << result.kernel;
  ASSERT_TRUE(result.peak_bytes.has_value());
}

TEST(MeasureScanForward, AloneGivesOneResult) {
  Session session(QuickOptions(""));
  MeasureScanForward(kTiny, 100, &session);
  ASSERT_EQ(session.file.results.size(), 1u);
  const Result& own = session.file.results[0];
  ExpectOwn(own, "tiny/100", "scan_forward");
  EXPECT_EQ(own.seqlen, 100);
  EXPECT_GT(own.figures.at("fraction_of_ceiling"), 0.0);
  EXPECT_LT(own.error_out.value(), 1e-5);
  EXPECT_LT(own.error_state.value(), 1e-5);
  EXPECT_FALSE(own.ratio.has_value());
}

TEST(MeasureScanForward, BesideAPeerGivesARatio) {
  Session session(QuickOptions(LOOP_PEER));
  MeasureScanForward(kTiny, 100, &session);
  ASSERT_EQ(session.file.results.size(), 2u);
  const Result& other = session.file.results[0];
  const Result& own = session.file.results[1];
  ExpectOwn(own, "tiny/100", "scan_forward");
  EXPECT_EQ(other.implementation, "loops");
  EXPECT_EQ(other.case_name, own.case_name);
  EXPECT_LT(other.error_out.value(), 1e-6) << "sums are in double";
  ASSERT_TRUE(own.ratio.has_value());
  EXPECT_EQ(own.ratio->against, "loops");
  EXPECT_GT(own.ratio->min, 0.0);
  EXPECT_LE(own.ratio->min, own.ratio->median);
  EXPECT_LE(own.ratio->median, own.ratio->max);
  EXPECT_EQ(session.file.implementations.at("loops"), "plain loops");
}

TEST(MeasureScanForward, Takes16BitOperands) {
  BenchOptions options = QuickOptions(LOOP_PEER);
  options.dtypes = {DType::kBFloat16, DType::kFloat32};
  Session session(options);
  MeasureScanForward(kTiny, 100, &session);
  const Result& own = session.file.results.at(1);
  EXPECT_EQ(own.dtype, "bfloat16");
  // Rounding out to bf16 alone is at least some 1e-3; the peer gets the same rounded operands.
  EXPECT_GT(own.error_out.value(), 1e-4);
  EXPECT_EQ(session.file.results.at(0).dtype, "float32");
  EXPECT_LT(session.file.results.at(0).error_out.value(), 1e-6);
}

// The part that is held against the recurrence is the first and the last head: head 1 is found by
// comparing the two implementations as a whole.
TEST(MeasureScanForward, DoesNotTimeAWrongResult) {
  Session session(QuickOptions(LOOP_PEER_WITH_A_WRONG_HEAD));
  EXPECT_THROW(MeasureScanForward(kTiny, 100, &session), std::runtime_error);
  EXPECT_TRUE(session.file.results.empty());
}

TEST(MeasureStateUpdate, BesideAPeerGivesARatio) {
  BenchOptions options = QuickOptions(LOOP_PEER);
  options.dtypes.states = DType::kBFloat16;
  Session session(options);
  MeasureStateUpdate(kTiny, 8, false, &session);
  ASSERT_EQ(session.file.results.size(), 2u);
  const Result& own = session.file.results[1];
  ExpectOwn(own, "tiny/decode-8/hot", "state_update");
  EXPECT_EQ(own.seqlen, 1);
  EXPECT_EQ(own.batch, 8);
  EXPECT_EQ(own.state_dtype, "bfloat16");
  EXPECT_EQ(own.figures.at("num_layers"), 1.0);
  EXPECT_GT(own.figures.at("fraction_of_ceiling"), 0.0);
  EXPECT_LT(own.error_state.value(), 2e-3) << "a rounding to bf16 is at most 2^-9";
  EXPECT_TRUE(own.ratio.has_value());
  EXPECT_EQ(session.file.results[0].state_dtype, "float32");
}

TEST(MeasureStateUpdate, ColdStepsManyLayers) {
  Session session(QuickOptions(""));
  constexpr ModelPreset kWide = {"tiny", 64, 64, 128, 2, 64, 3};  // so that few layers are enough
  MeasureStateUpdate(kWide, 8, true, &session);
  const Result& own = session.file.results.at(0);
  ExpectOwn(own, "tiny/decode-8/cold", "state_update");
  EXPECT_GT(own.figures.at("num_layers"), 1.0);
  // A layer's share, not the pass over all.
  EXPECT_NEAR(own.figures.at("gbytes_per_s"),
              2.0 * testing::StateBytes(kWide, 8, DType::kFloat32) / own.timing.median_us * 1e-3,
              1e-9 * own.figures.at("gbytes_per_s"));
}

TEST(MeasureStateUpdate, DoesNotTimeAWrongResult) {
  Session session(QuickOptions(LOOP_PEER_WITH_A_WRONG_HEAD));
  EXPECT_THROW(MeasureStateUpdate(kTiny, 2, false, &session), std::runtime_error);
}

TEST(Limits, AreThoseOfTheCoarsestDType) {
  const Errors float32 = Limits({DType::kFloat32, DType::kFloat32});
  EXPECT_EQ(float32.out, float32.state);
  const Errors bfloat16 = Limits({DType::kBFloat16, DType::kFloat32});
  EXPECT_GT(bfloat16.out, float32.out);
  const Errors float16 = Limits({DType::kFloat16, DType::kFloat32});
  EXPECT_DOUBLE_EQ(float16.out * 8, bfloat16.out);
  const Errors float16_on_device = Limits({DType::kFloat16, DType::kFloat32}, true);
  EXPECT_GT(float16_on_device.out, float16.out);
  EXPECT_LT(float16_on_device.out, bfloat16.out);
  EXPECT_LT(Limits({DType::kFloat64, DType::kFloat64}).out, float32.out);
  const Errors state = Limits({DType::kFloat32, DType::kBFloat16});
  EXPECT_EQ(state.out, float32.out);
  EXPECT_EQ(state.state, bfloat16.state);
  EXPECT_THROW(RequireWithin("it", {1e-4, 0.0}, float32), std::runtime_error);
  EXPECT_THROW(RequireWithin("it", {0.0, NAN}, float32), std::runtime_error);
  EXPECT_NO_THROW(RequireWithin("it", {1e-6, 1e-6}, float32));
}

}  // namespace
}  // namespace tilescan::bench
