#include "cli/bench_case.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/bench_contender.h"
#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/expected.h"
#include "cli/work.h"
#include "testing/check_result.h"
#include "testing/device_memory.h"
#include "testing/timer.h"
#include "testing/workload.h"

namespace tilescan::cli {
namespace {

using testing::Rate;
using testing::Result;
using Contenders = std::vector<std::unique_ptr<Contender>>;

bool IsOnDevice(const Contender& contender) {
  return testing::IsOnDevice(contender.description().at("backend").get<std::string>().c_str());
}

std::string ComparedName(const Contender& contender) {
  return Concat("tilescan ", contender.Kernel());
}

// Checks the contender on the workload's first call, whose outputs are there then. Throws
// std::runtime_error if they are wrong.
testing::Errors Check(const BenchCase& bench_case, Contender* contender,
                      const BenchWorkload& workload) {
  contender->RunFirst();
  const std::string what = Concat(bench_case.Name(), " on ", contender->Kernel());
  const testing::Errors errors = workload.OutputErrors(what);
  testing::RequireWithin(what, errors,
                         testing::Limits(bench_case.DTypes(), IsOnDevice(*contender)));
  return errors;
}

// How far all outputs are from the compared backend's.
void SetDifferences(const OutputCopies& outputs, const OutputCopies& compared, Result* result) {
  for (size_t idx = 0; idx < outputs.tensors.size(); ++idx) {
    const NamedTensor& output = outputs.tensors[idx];
    const double difference =
        Compare(output.name, output.tensor, compared.tensors[idx].tensor).relative_l2;
    result->figures[output.name == "out" ? "difference_out" : "difference_state"] = difference;
  }
}

testing::RoundRatio RatioOfRounds(const Contender& first, const Contender& second) {
  std::vector<double> ratios;
  for (size_t round = 0; round < first.samples().size(); ++round) {
    ratios.push_back(second.samples()[round].seconds / first.samples()[round].seconds);
  }
  const auto [min, max] = std::minmax_element(ratios.begin(), ratios.end());
  return {ComparedName(second), testing::Median(ratios), *min, *max};
}

// The fraction of what bounds the operation. On a CPU: arithmetic or memory for the scan, whichever
// is nearer; memory in place for decoding. On a GPU a copy of its memory, for both.
void SetFractionOfCeiling(const BenchCase& bench_case, const Contender& contender,
                          testing::Ceilings* ceilings, Result* result) {
  const double gbytes_per_s = result->figures.at("gbytes_per_s");
  double& fraction = result->figures["fraction_of_ceiling"];
  if (IsOnDevice(contender)) {
    fraction = gbytes_per_s / ceilings->DeviceCopy().median;
    return;
  }
  if (bench_case.operation == Operation::kStateUpdate) {
    fraction = gbytes_per_s / ceilings->InPlace().median;
    return;
  }
  const Rate multiply_add = ceilings->MultiplyAdd(contender.description().at("instruction_set"));
  if (multiply_add.repeats == 0) {
    result->figures.erase("fraction_of_ceiling");
    return;
  }
  fraction = std::max(result->figures.at("gflops") / multiply_add.median,
                      gbytes_per_s / ceilings->Copy().median);
}

Result MakeResult(const BenchCase& bench_case, const Contender& contender, const Work& work,
                  const testing::Errors& errors) {
  Result result;
  result.case_name = bench_case.Name();
  result.operation = OperationName(bench_case.operation);
  result.error_out = errors.out;
  result.error_state = errors.state;
  result.dtype = FindDType(bench_case.dtype)->name;
  result.state_dtype = FindDType(bench_case.state_dtype)->name;
  result.preset = bench_case.preset->name;
  result.batch = bench_case.batch;
  result.seqlen = bench_case.seqlen;
  result.timing = testing::Summarise(contender.samples());
  result.kernel = contender.Kernel();
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
  result.peak_bytes = static_cast<int64_t>(contender.workspace_bytes());
  return result;
}

}  // namespace

std::vector<Result> MeasureCase(const BenchCase& bench_case, const BenchSettings& settings,
                                const std::function<void()>& on_sample,
                                testing::Ceilings* ceilings) {
  const std::string& compared_backend = settings.compared_backend;
  const bool all_on_device =
      testing::IsOnDevice(settings.compute.backend.c_str()) &&
      (compared_backend.empty() || testing::IsOnDevice(compared_backend.c_str()));
  // Layers on the GPU are the contender's.
  BenchWorkload workload(bench_case, all_on_device ? 1 : 0);
  Contenders contenders;
  contenders.push_back(MakeContender({settings.compute, settings.chunk_size, &workload}));
  if (!compared_backend.empty()) {
    const ComputeOptions compute{compared_backend, "", "", settings.compute.num_threads};
    contenders.push_back(MakeContender({compute, settings.chunk_size, &workload}));
  }
  std::vector<testing::Errors> errors;
  std::vector<OutputCopies> outputs;
  for (const auto& contender : contenders) {
    errors.push_back(Check(bench_case, contender.get(), workload));
    outputs.push_back(workload.CopyOutputs());
  }
  for (int64_t round = 0; round < settings.num_samples; ++round) {
    for (const auto& contender : contenders) {
      on_sample();
      contender->TakeSample();
    }
  }

  std::vector<Result> results;
  for (size_t idx = 0; idx < contenders.size(); ++idx) {
    const Contender& contender = *contenders[idx];
    const Work work = WorkOf(contender.description().at("sizes"), workload.Next());
    results.push_back(MakeResult(bench_case, contender, work, errors[idx]));
    results.back().implementation = idx == 0 ? "tilescan" : ComparedName(contender);
  }
  SetFractionOfCeiling(bench_case, *contenders.front(), ceilings, &results.front());
  if (contenders.size() > 1) {
    SetDifferences(outputs.front(), outputs.back(), &results.front());
    results.front().ratio = RatioOfRounds(*contenders.front(), *contenders.back());
  }
  return results;
}

}  // namespace tilescan::cli
