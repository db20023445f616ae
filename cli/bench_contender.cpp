#include "cli/bench_contender.h"

#include <utility>

#include "cli/buffer.h"
#include "cli/plan_text.h"
#include "testing/device_memory.h"

namespace tilescan::cli {
namespace {

class HostContender : public Contender {
 public:
  HostContender(Plan plan, nlohmann::ordered_json description, BenchWorkload* workload)
      : Contender(std::move(plan), std::move(description), workload),
        workspace_(workspace_bytes()) {
    policy_.num_threads = this->description().at("num_threads").get<int32_t>();
  }

  void RunFirst() override {
    workload().Restart();
    Call();
  }

 private:
  void Call() { RunPlan(plan(), *workload().Next(), workspace_.data(), workspace_.num_bytes()); }

  testing::Sample Sample() override {
    const auto work = [this] { Call(); };
    if (num_calls_ == 0) num_calls_ = testing::CallsPerSample(work, policy_);
    return testing::TakeSample(work, num_calls_, policy_);
  }

  Buffer workspace_;
  testing::SamplePolicy policy_;
  int64_t num_calls_ = 0;  // of a sample
};

}  // namespace

std::string Contender::Kernel() const { return KernelText(description_); }

std::unique_ptr<Contender> MakeContender(const BenchTask& task) {
  Plan plan = MakePlan(*task.workload->Next(), task.compute.ToLibrary(task.chunk_size));
  nlohmann::ordered_json description = DescribePlan(plan);
  const auto backend = description.at("backend").get<std::string>();
  const auto make = testing::IsOnDevice(backend.c_str()) ? MakeDeviceContender : MakeHostContender;
  return make(std::move(plan), std::move(description), task.workload);
}

std::unique_ptr<Contender> MakeHostContender(Plan plan, nlohmann::ordered_json description,
                                             BenchWorkload* workload) {
  return std::make_unique<HostContender>(std::move(plan), std::move(description), workload);
}

}  // namespace tilescan::cli
