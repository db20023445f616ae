// A backend on a benchmark's workload.
#ifndef TILESCAN_CLI_BENCH_CONTENDER_H_
#define TILESCAN_CLI_BENCH_CONTENDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_workload.h"
#include "cli/library.h"
#include "cli/options.h"
#include "testing/timer.h"

namespace tilescan::cli {

// What a contender is to measure. The workload must outlive it.
struct BenchTask {
  ComputeOptions compute;
  int64_t chunk_size = 0;
  BenchWorkload* workload = nullptr;
};

class Contender {
 public:
  virtual ~Contender() = default;

  // One call from the workload's beginning; its outputs are in the workload then.
  virtual void RunFirst() = 0;
  // Takes a sample, and keeps it.
  void TakeSample() { samples_.push_back(Sample()); }

  // What the plan says of itself.
  const nlohmann::ordered_json& description() const { return description_; }
  size_t workspace_bytes() const { return tilescan_plan_workspace_bytes(plan_.get()); }
  // "cpu/chunked_fma/avx2"
  std::string Kernel() const;
  const std::vector<testing::Sample>& samples() const { return samples_; }

 protected:
  Contender(Plan plan, nlohmann::ordered_json description, BenchWorkload* workload)
      : plan_(std::move(plan)), description_(std::move(description)), workload_(workload) {}

  const Plan& plan() const { return plan_; }
  BenchWorkload& workload() const { return *workload_; }

 private:
  virtual testing::Sample Sample() = 0;

  Plan plan_;
  nlohmann::ordered_json description_;
  BenchWorkload* workload_;
  std::vector<testing::Sample> samples_;
};

// Plans the workload. Throws Error where the library refuses.
std::unique_ptr<Contender> MakeContender(const BenchTask& task);

// What MakeContender() makes of a plan for a backend that computes on the CPU, or on a GPU.
std::unique_ptr<Contender> MakeHostContender(Plan plan, nlohmann::ordered_json description,
                                             BenchWorkload* workload);
std::unique_ptr<Contender> MakeDeviceContender(Plan plan, nlohmann::ordered_json description,
                                               BenchWorkload* workload);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_BENCH_CONTENDER_H_
