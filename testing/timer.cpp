#include "testing/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

namespace tilescan::testing {
namespace {

// Between two tries, so that whoever disturbed may finish.
constexpr std::chrono::milliseconds kPauseAfterDisturbance(20);

double ReadClock(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double WallSeconds() { return ReadClock(CLOCK_MONOTONIC); }
double CpuSeconds() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }

Sample RunOnce(const Work& work, int64_t num_calls, const SamplePolicy& policy) {
  const double cpu_start = CpuSeconds();
  const double start = WallSeconds();
  for (int64_t call = 0; call < num_calls; ++call) work();
  const double wall = WallSeconds() - start;
  const double cpu = CpuSeconds() - cpu_start;
  Sample sample;
  sample.seconds = wall / static_cast<double>(num_calls);
  sample.cpu_share = wall > 0.0 ? cpu / (wall * policy.num_threads) : 0.0;
  sample.is_clean = sample.cpu_share >= policy.min_cpu_share;
  return sample;
}

}  // namespace

int64_t CallsPerSample(const Work& work, const SamplePolicy& policy) {
  work();
  // Doubled until the calls are long enough for one of them to be judged.
  const double enough_seconds = policy.sample_seconds / 8;
  for (int64_t num_calls = 1;; num_calls *= 2) {
    const double seconds_a_call = RunOnce(work, num_calls, policy).seconds;
    if (seconds_a_call * static_cast<double>(num_calls) < enough_seconds) continue;
    return std::max<int64_t>(1, std::llround(policy.sample_seconds / seconds_a_call));
  }
}

Sample TakeSample(const Work& work, int64_t num_calls, const SamplePolicy& policy) {
  const double start = WallSeconds();
  Sample best = RunOnce(work, num_calls, policy);
  while (!best.is_clean && WallSeconds() - start < policy.patience_seconds) {
    std::this_thread::sleep_for(kPauseAfterDisturbance);
    const Sample sample = RunOnce(work, num_calls, policy);
    if (sample.cpu_share > best.cpu_share) best = sample;
  }
  return best;
}

Timing Summarise(const std::vector<Sample>& samples) {
  Timing timing;
  std::vector<double> microseconds;
  for (const Sample& sample : samples) {
    microseconds.push_back(sample.seconds * 1e6);
    if (!sample.is_clean) ++timing.num_disturbed;
  }
  if (microseconds.empty()) return timing;
  timing.median_us = Median(microseconds);
  const auto [min, max] = std::minmax_element(microseconds.begin(), microseconds.end());
  timing.min_us = *min;
  timing.max_us = *max;
  timing.repeats = static_cast<int64_t>(samples.size());
  return timing;
}

Timing Measure(const Work& work, int64_t num_samples, const SamplePolicy& policy,
               const std::function<void(int64_t)>& on_sample) {
  const int64_t num_calls = CallsPerSample(work, policy);
  std::vector<Sample> samples;
  for (int64_t sample_idx = 0; sample_idx < num_samples; ++sample_idx) {
    if (on_sample) on_sample(sample_idx);
    samples.push_back(TakeSample(work, num_calls, policy));
  }
  return Summarise(samples);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace tilescan::testing
