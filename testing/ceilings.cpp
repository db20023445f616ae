#include "testing/ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "hwy/targets.h"
#include "testing/ceiling_passes.h"
#include "testing/device_replay.h"

namespace tilescan::testing {
namespace {

bool IsHere(const CeilingPasses& passes) {
  return passes.is_baseline || (hwy::SupportedTargets() & passes.hwy_target) != 0;
}

const CeilingPasses* FindPasses(const std::string& instruction_set) {
  for (const CeilingPasses& passes : AllCeilingPasses()) {
    if (passes.instruction_set == instruction_set && IsHere(passes)) return &passes;
  }
  return nullptr;
}

// The baseline is always here.
const CeilingPasses& BestPasses() {
  const CeilingPasses* best = nullptr;
  for (const CeilingPasses& passes : AllCeilingPasses()) {
    if (IsHere(passes)) best = &passes;
  }
  return *best;
}

// Calls body(thread_idx) on num_threads threads, of which this is one.
template <typename Body>
void RunOnThreads(int32_t num_threads, const Body& body) {
  std::vector<std::thread> threads;
  for (int32_t thread_idx = 1; thread_idx < num_threads; ++thread_idx) {
    threads.emplace_back([&body, thread_idx] { body(thread_idx); });
  }
  body(0);
  for (std::thread& thread : threads) thread.join();
}

// The rate at which a call does `amount` (of what the rate counts, times 1e9).
Rate MeasureRate(const Work& work, double amount, int64_t num_samples, const SamplePolicy& policy) {
  const Timing timing = Measure(work, num_samples, policy);
  const auto rate = [amount](double microseconds) { return amount / microseconds * 1e-3; };
  Rate result;
  result.median = rate(timing.median_us);
  result.min = rate(timing.max_us);
  result.max = rate(timing.min_us);
  result.repeats = timing.repeats;
  result.num_disturbed = timing.num_disturbed;
  return result;
}

// Calls are long beside the start of a thread.
constexpr double kCallSeconds = 0.02;

// Memory whose pages exist and hold 0, first touched by the thread that gets them.
class PassMemory {
 public:
  PassMemory(int64_t num_bytes, int32_t num_threads) {
    const auto threads = static_cast<int64_t>(num_threads);
    const auto granule_bytes = static_cast<int64_t>(kPassGranule * sizeof(float));
    const int64_t granules_a_thread = std::max<int64_t>(1, num_bytes / (granule_bytes * threads));
    count_ = granules_a_thread * kPassGranule;
    const auto total = static_cast<size_t>(count_ * threads) * sizeof(float);
    data_.reset(static_cast<float*>(::operator new(total, kAlignment)));
    RunOnThreads(num_threads, [this](int32_t idx) { std::fill_n(part(idx), count_, 0.0f); });
  }

  float* part(int32_t thread_idx) const { return data_.get() + thread_idx * count_; }
  // Floats that each thread has.
  int64_t count() const { return count_; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t count_ = 0;
};

// Times pass(thread_idx), which reads and writes a part of num_bytes on each thread.
template <typename Pass>
Rate MeasurePasses(int64_t num_bytes, const Pass& pass, int64_t num_samples,
                   const SamplePolicy& policy) {
  int64_t num_passes = 1;
  const auto run_passes = [&] {
    RunOnThreads(policy.num_threads, [&](int32_t thread_idx) {
      for (int64_t idx = 0; idx < num_passes; ++idx) pass(thread_idx);
    });
  };
  const SamplePolicy any_sample = {policy.num_threads, 0.0, 0.0, 0.0};
  while (TakeSample(run_passes, 1, any_sample).seconds < kCallSeconds) num_passes *= 2;
  const double bytes = 2.0 * static_cast<double>(num_bytes) * static_cast<double>(num_passes);
  return MeasureRate(run_passes, bytes, num_samples, policy);
}

}  // namespace

Rate MeasureMultiplyAdd(const std::string& instruction_set, int64_t num_samples,
                        const SamplePolicy& policy) {
  const CeilingPasses* passes = FindPasses(instruction_set);
  if (passes == nullptr) return Rate();
  constexpr int64_t kNumRounds = 2'000'000;
  static std::atomic<float> seed = 0.0f;
  static std::atomic<float> sink;
  const auto work = [&] {
    RunOnThreads(policy.num_threads,
                 [&](int32_t) { sink = passes->multiply_add(kNumRounds, seed.load()); });
  };
  const double flops = passes->flops_a_round * kNumRounds * policy.num_threads;
  return MeasureRate(work, flops, num_samples, policy);
}

Rate MeasureCopy(int64_t num_bytes, int64_t num_samples, const SamplePolicy& policy) {
  const CeilingPasses& passes = BestPasses();
  const PassMemory from(num_bytes, policy.num_threads);
  const PassMemory to(num_bytes, policy.num_threads);
  const auto copied_bytes = static_cast<int64_t>(sizeof(float)) * from.count() * policy.num_threads;
  return MeasurePasses(
      copied_bytes, [&](int32_t idx) { passes.copy(from.part(idx), from.count(), to.part(idx)); },
      num_samples, policy);
}

Rate MeasureInPlace(int64_t num_bytes, int64_t num_samples, const SamplePolicy& policy) {
  const CeilingPasses& passes = BestPasses();
  const PassMemory memory(num_bytes, policy.num_threads);
  const auto passed_bytes =
      static_cast<int64_t>(sizeof(float)) * memory.count() * policy.num_threads;
  return MeasurePasses(
      passed_bytes, [&](int32_t idx) { passes.in_place(memory.part(idx), memory.count()); },
      num_samples, policy);
}

Rate MeasureDeviceCopy(int64_t num_bytes, int64_t num_samples) {
  constexpr int kCopies = 5;  // a sample
  const auto bytes = static_cast<size_t>(num_bytes);
  const DeviceMemory from = AllocateOnDevice(bytes, std::byte{0});
  const DeviceMemory to = AllocateOnDevice(bytes, std::byte{0});
  const DeviceReplay replay([&](void* stream) {
    for (int copy = 0; copy < kCopies; ++copy) {
      EnqueueDeviceCopy(to.get(), from.get(), bytes, stream);
    }
  });
  std::vector<double> rates;
  for (int64_t sample = 0; sample < num_samples; ++sample) {
    rates.push_back(2.0 * kCopies * static_cast<double>(num_bytes) / replay.Time() * 1e-9);
  }
  const auto [min, max] = std::minmax_element(rates.begin(), rates.end());
  return {Median(rates), *min, *max, num_samples, 0};
}

int64_t BytesBeyondCaches() {
  // What a virtual machine is told of the last cache may be less or more than its share: many times
  // that, but not more memory than any machine has to spare.
  constexpr int64_t kTimesTheCache = 16;
  constexpr int64_t kMaxBytes = int64_t{2} << 30;
  constexpr int64_t kBytesIfUnknown = int64_t{512} << 20;
  const int64_t cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache_bytes <= 0) return kBytesIfUnknown;
  return std::min(kTimesTheCache * cache_bytes, kMaxBytes);
}

template <typename MeasureCeiling>
Rate Ceilings::Once(const std::string& name, const MeasureCeiling& measure) {
  const auto found = measured_.find(name);
  if (found != measured_.end()) return found->second;
  constexpr int64_t kNumSamples = 7;
  const Rate rate = measure(kNumSamples);
  if (rate.repeats > 0) measured_[name] = rate;
  return rate;
}

Rate Ceilings::MultiplyAdd(const std::string& instruction_set) {
  return Once("multiply_add_gflops_" + instruction_set, [&](int64_t num_samples) {
    return MeasureMultiplyAdd(instruction_set, num_samples, policy_);
  });
}

Rate Ceilings::Copy() {
  return Once("copy_gbytes_per_s", [&](int64_t num_samples) {
    return MeasureCopy(BytesBeyondCaches(), num_samples, policy_);
  });
}

Rate Ceilings::InPlace() {
  return Once("in_place_gbytes_per_s", [&](int64_t num_samples) {
    return MeasureInPlace(BytesBeyondCaches(), num_samples, policy_);
  });
}

Rate Ceilings::DeviceCopy() {
  // Far more than a GPU's caches hold.
  constexpr int64_t kBytes = int64_t{1} << 30;
  return Once("device_copy_gbytes_per_s",
              [](int64_t num_samples) { return MeasureDeviceCopy(kBytes, num_samples); });
}

}  // namespace tilescan::testing
