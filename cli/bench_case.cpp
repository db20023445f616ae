#include "cli/bench_case.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/buffer.h"
#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/expected.h"
#include "cli/library.h"
#include "cli/plan_text.h"
#include "cli/work.h"
#include "testing/device_memory.h"
#include "testing/timer.h"
#include "testing/workload.h"

namespace tilescan::cli {
namespace {

using testing::Rate;
using testing::Result;

// A backend on a workload, and its samples.
struct Contender {
  std::string implementation;
  Plan plan;
  nlohmann::ordered_json description;
  Buffer workspace;
  testing::SamplePolicy policy;
  int64_t num_calls = 0;  // a sample
  std::vector<testing::Sample> samples;
};

Contender MakeContender(const std::string& implementation, const ComputeOptions& compute,
                        int64_t chunk_size, BenchWorkload* workload) {
  Plan plan = MakePlan(*workload->Next(), compute.ToLibrary(chunk_size));
  Buffer workspace(tilescan_plan_workspace_bytes(plan.get()));
  nlohmann::ordered_json description = DescribePlan(plan);
  if (testing::IsOnDevice(description.at("backend").get<std::string>().c_str())) {
    throw Error("bench: times the CPU only; bench/gpu/gpu_bench.py times a GPU");
  }
  testing::SamplePolicy policy;
  policy.num_threads = description.at("num_threads").get<int32_t>();
  return {
      implementation, std::move(plan), std::move(description), std::move(workspace), policy, 0, {}};
}

void Call(const Contender& contender, BenchWorkload* workload) {
  RunPlan(contender.plan, *workload->Next(), contender.workspace.data(),
          contender.workspace.num_bytes());
}

// The outputs of one call from the workload's beginning.
OutputCopies FirstOutputs(const Contender& contender, BenchWorkload* workload) {
  workload->Restart();
  Call(contender, workload);
  return workload->CopyOutputs();
}

// How far the outputs are from the compared backend's.
void SetErrors(const std::vector<NamedTensor>& outputs, const std::vector<NamedTensor>& compared,
               Result* result) {
  for (size_t idx = 0; idx < outputs.size(); ++idx) {
    const double error =
        Compare(outputs[idx].name, outputs[idx].tensor, compared[idx].tensor).relative_l2;
    (outputs[idx].name == "out" ? result->error_out : result->error_state) = error;
  }
}

void TakeSamples(int64_t num_samples, const std::function<void()>& on_sample,
                 std::vector<Contender>* contenders, BenchWorkload* workload) {
  for (int64_t round = 0; round < num_samples; ++round) {
    for (Contender& contender : *contenders) {
      on_sample();
      const auto work = [&] { Call(contender, workload); };
      if (contender.num_calls == 0) {
        contender.num_calls = testing::CallsPerSample(work, contender.policy);
      }
      contender.samples.push_back(testing::TakeSample(work, contender.num_calls, contender.policy));
    }
  }
}

testing::RoundRatio RatioOfRounds(const Contender& first, const Contender& second) {
  std::vector<double> ratios;
  for (size_t round = 0; round < first.samples.size(); ++round) {
    ratios.push_back(second.samples[round].seconds / first.samples[round].seconds);
  }
  const auto [min, max] = std::minmax_element(ratios.begin(), ratios.end());
  return {second.implementation, testing::Median(ratios), *min, *max};
}

// The fraction of what bounds the operation: arithmetic or memory for the scan, whichever is
// nearer; memory in place for decoding.
void SetFractionOfCeiling(const BenchCase& bench_case, const Contender& contender,
                          testing::Ceilings* ceilings, Result* result) {
  const double gbytes_per_s = result->figures.at("gbytes_per_s");
  if (bench_case.operation == Operation::kStateUpdate) {
    result->figures["fraction_of_ceiling"] = gbytes_per_s / ceilings->InPlace().median;
    return;
  }
  const Rate multiply_add = ceilings->MultiplyAdd(contender.description.at("instruction_set"));
  if (multiply_add.repeats == 0) return;
  result->figures["fraction_of_ceiling"] = std::max(
      result->figures.at("gflops") / multiply_add.median, gbytes_per_s / ceilings->Copy().median);
}

Result MakeResult(const BenchCase& bench_case, const Contender& contender, const Work& work) {
  Result result;
  result.case_name = bench_case.Name();
  result.operation = OperationName(bench_case.operation);
  result.implementation = contender.implementation;
  result.dtype = FindDType(bench_case.dtype)->name;
  result.state_dtype = FindDType(bench_case.state_dtype)->name;
  result.preset = bench_case.preset->name;
  result.batch = bench_case.batch;
  result.seqlen = bench_case.seqlen;
  result.timing = testing::Summarise(contender.samples);
  result.kernel = KernelText(contender.description);
  const double median_ns = result.timing.median_us * 1e3;
  result.figures["gflops"] = work.num_flops / median_ns;
  // Decoding moves its states; the rest is left out, as it is in the ceiling.
  const double num_bytes = bench_case.operation == Operation::kScanForward
                               ? work.num_bytes
                               : 2.0 * testing::StateBytes(*bench_case.preset, bench_case.batch,
                                                           bench_case.DTypes().states);
  result.figures["gbytes_per_s"] = num_bytes / median_ns;
  result.figures["ns_per_token_head"] =
      median_ns / (work.num_tokens * static_cast<double>(bench_case.preset->nheads));
  result.peak_bytes = static_cast<int64_t>(contender.workspace.num_bytes());
  return result;
}

}  // namespace

std::vector<Result> MeasureCase(const BenchCase& bench_case, const BenchSettings& settings,
                                const std::function<void()>& on_sample,
                                testing::Ceilings* ceilings) {
  BenchWorkload workload(bench_case);
  std::vector<Contender> contenders;
  contenders.push_back(MakeContender("tilescan", settings.compute, settings.chunk_size, &workload));
  if (!settings.compared_backend.empty()) {
    const ComputeOptions compute{settings.compared_backend, "", "", settings.compute.num_threads};
    contenders.push_back(MakeContender("", compute, settings.chunk_size, &workload));
    contenders.back().implementation =
        Concat("tilescan ", KernelText(contenders.back().description));
  }
  std::optional<OutputCopies> compared;
  const OutputCopies outputs = FirstOutputs(contenders.front(), &workload);
  if (contenders.size() > 1) compared = FirstOutputs(contenders.back(), &workload);
  TakeSamples(settings.num_samples, on_sample, &contenders, &workload);

  std::vector<Result> results;
  for (const Contender& contender : contenders) {
    const Work work = WorkOf(contender.description.at("sizes"), workload.Next());
    results.push_back(MakeResult(bench_case, contender, work));
  }
  SetFractionOfCeiling(bench_case, contenders.front(), ceilings, &results.front());
  if (compared) {
    SetErrors(outputs.tensors, compared->tensors, &results.front());
    results.front().ratio = RatioOfRounds(contenders.front(), contenders.back());
  }
  return results;
}

}  // namespace tilescan::cli
