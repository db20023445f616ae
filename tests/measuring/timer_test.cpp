// Timing: what a sample is, which of them count, and what they say together.
#include "testing/timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace tilescan::testing {
namespace {

void Spin(std::chrono::microseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({}), 0.0);
  EXPECT_EQ(Median({3.0}), 3.0);
  EXPECT_EQ(Median({9.0, 1.0, 4.0}), 4.0);
  EXPECT_EQ(Median({9.0, 1.0, 4.0, 6.0}), 5.0);
}

TEST(Summarise, GivesMedianSpreadAndCounts) {
  const Timing timing =
      Summarise({{3e-6, 1.0, true}, {1e-6, 0.5, false}, {2e-6, 1.0, true}, {8e-6, 0.1, false}});
  EXPECT_DOUBLE_EQ(timing.median_us, 2.5);
  EXPECT_DOUBLE_EQ(timing.min_us, 1.0);
  EXPECT_DOUBLE_EQ(timing.max_us, 8.0);
  EXPECT_EQ(timing.repeats, 4);
  EXPECT_EQ(timing.num_disturbed, 2);
}

TEST(Summarise, OfNothingIsZero) {
  const Timing timing = Summarise({});
  EXPECT_EQ(timing.repeats, 0);
  EXPECT_EQ(timing.median_us, 0.0);
}

TEST(CallsPerSample, FillsASample) {
  SamplePolicy policy;
  policy.sample_seconds = 0.01;
  int64_t num_calls = 0;
  const int64_t calls =
      CallsPerSample([&] { Spin(std::chrono::microseconds(500)), ++num_calls; }, policy);
  // A call lasts 500 us or, where others compute too, longer: never more calls than fit.
  EXPECT_GE(calls, 1);
  EXPECT_LE(calls, 20);
  EXPECT_GE(num_calls, 1) << "the work must be warm";
}

TEST(CallsPerSample, IsOneForLongWork) {
  SamplePolicy policy;
  policy.sample_seconds = 0.001;
  EXPECT_EQ(CallsPerSample([] { Spin(std::chrono::milliseconds(3)); }, policy), 1);
}

TEST(TakeSample, TimesACall) {
  const SamplePolicy any = {1, 0.0, 0.0, 0.0};
  const Sample sample = TakeSample([] { Spin(std::chrono::milliseconds(2)); }, 5, any);
  EXPECT_GE(sample.seconds, 0.002);
  EXPECT_TRUE(sample.is_clean);
  EXPECT_GT(sample.cpu_share, 0.0);
}

TEST(TakeSample, CallsWorkThatSleepsDisturbed) {
  // A sleeping process gets no processor time, as one that waits for a processor.
  const SamplePolicy policy = {1, 0.0, 0.965, 0.0};
  const Sample sample =
      TakeSample([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }, 1, policy);
  EXPECT_FALSE(sample.is_clean);
  EXPECT_LT(sample.cpu_share, 0.5);
}

TEST(TakeSample, TriesAgainUntilItsPatienceEnds) {
  SamplePolicy policy = {1, 0.0, 2.0, 0.1};  // more than all processor time: never clean
  int num_tries = 0;
  const auto start = std::chrono::steady_clock::now();
  // Long enough for the clocks: the share of a moment is noise.
  const auto work = [&] {
    ++num_tries;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < end) continue;
  };
  const Sample sample = TakeSample(work, 1, policy);
  EXPECT_GT(num_tries, 1);
  EXPECT_FALSE(sample.is_clean);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));

  policy.patience_seconds = 0.0;
  num_tries = 0;
  TakeSample([&] { ++num_tries; }, 1, policy);
  EXPECT_EQ(num_tries, 1);
}

TEST(Measure, TakesAsManySamplesAsAsked) {
  const SamplePolicy any = {1, 0.001, 0.0, 0.0};
  std::vector<int64_t> announced;
  const Timing timing = Measure([] { Spin(std::chrono::microseconds(200)); }, 3, any,
                                [&](int64_t sample_idx) { announced.push_back(sample_idx); });
  EXPECT_EQ(timing.repeats, 3);
  EXPECT_EQ(announced, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_GE(timing.min_us, 200.0);
  EXPECT_LE(timing.min_us, timing.median_us);
  EXPECT_LE(timing.median_us, timing.max_us);
}

}  // namespace
}  // namespace tilescan::testing
