// Timing on machines that others use at the same time.
//
// A sample is a number of calls in a row, long enough for the clock. While it ran, the process may
// have had to share its processors with others, and then the time says nothing: a sample counts as
// clean when the process got nearly all the processor time that its threads could use (CPU time /
// (wall time * threads)), and is repeated otherwise. What stays disturbed after some patience is
// used all the same, and counted.
#ifndef TILESCAN_TESTING_TIMER_H_
#define TILESCAN_TESTING_TIMER_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace tilescan::testing {

using Work = std::function<void()>;

struct SamplePolicy {
  int32_t num_threads = 1;        // that the work keeps busy
  double sample_seconds = 0.1;    // how long a sample is, about
  double min_cpu_share = 0.965;   // of a clean sample; the rest is clock ticks and waking up
  double patience_seconds = 5.0;  // for one clean sample
};

struct Sample {
  double seconds = 0.0;    // a call
  double cpu_share = 0.0;  // 1: the process had its threads' processors for itself
  bool is_clean = false;
};

// Calls that last about policy.sample_seconds together, at least 1. Calls the work a few times, so
// it is warm afterwards.
int64_t CallsPerSample(const Work& work, const SamplePolicy& policy);

// Takes samples until one is clean; after patience_seconds, the least disturbed of them.
Sample TakeSample(const Work& work, int64_t num_calls, const SamplePolicy& policy);

// What samples say together, in microseconds a call.
struct Timing {
  double median_us = 0.0;
  double min_us = 0.0;
  double max_us = 0.0;
  int64_t repeats = 0;        // samples
  int64_t num_disturbed = 0;  // of them, those that are not clean
};

Timing Summarise(const std::vector<Sample>& samples);

// The whole of it: finds the number of calls, takes num_samples samples of them.
// on_sample(sample_idx), if given, is called before each, outside the time taken.
Timing Measure(const Work& work, int64_t num_samples, const SamplePolicy& policy,
               const std::function<void(int64_t sample_idx)>& on_sample = {});

// The median of some numbers, of the middle two their mean; 0 of none.
double Median(std::vector<double> values);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_TIMER_H_
