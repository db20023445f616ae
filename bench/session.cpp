#include "bench/session.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace tilescan::bench {

using testing::Result;

Session::Session(BenchOptions bench_options)
    : options(std::move(bench_options)), ceilings(options.policy) {
  if (!options.peer_path.empty()) {
    peer.emplace(options.peer_path);
    file.implementations[peer->name()] = peer->build();
  }
  file.environment = testing::DescribeEnvironment(options.policy.num_threads);
}

Result Session::NewResult(const testing::ModelPreset& preset, int64_t batch,
                          const std::string& implementation) const {
  Result result;
  result.implementation = implementation;
  result.dtype = DTypeName(options.dtypes.operands);
  result.state_dtype = DTypeName(options.dtypes.states);
  result.preset = preset.name;
  result.batch = batch;
  return result;
}

namespace {

void Print(const Result& result) {
  const testing::Timing& timing = result.timing;
  std::printf("%-34s %-9s %12.2f us (%.2f to %.2f, %lld samples", result.case_name.c_str(),
              result.implementation.c_str(), timing.median_us, timing.min_us, timing.max_us,
              static_cast<long long>(timing.repeats));
  if (timing.num_disturbed > 0) {
    std::printf(", %lld disturbed", static_cast<long long>(timing.num_disturbed));
  }
  std::printf(")  %7.1f ns/token/head", result.figures.at("ns_per_token_head"));
  const auto print_figure = [&](const char* name, const char* format) {
    const auto found = result.figures.find(name);
    if (found != result.figures.end()) std::printf(format, found->second);
  };
  print_figure("gflops", "  %6.1f GFLOP/s");
  print_figure("gbytes_per_s", "  %6.1f GB/s");
  const auto fraction = result.figures.find("fraction_of_ceiling");
  if (fraction != result.figures.end()) std::printf("  %5.1f %%", 100.0 * fraction->second);
  std::printf("  error %.1e, state %.1e", result.error_out.value(), result.error_state.value());
  if (result.ratio) {
    std::printf("  x%.2f of %s (%.2f to %.2f)", result.ratio->median, result.ratio->against.c_str(),
                result.ratio->min, result.ratio->max);
  }
  std::printf("\n");
}

}  // namespace

void Session::Add(const Result& own, const std::optional<Result>& peer_result) {
  if (peer_result) {
    Print(*peer_result);
    file.results.push_back(*peer_result);
  }
  Print(own);
  std::fflush(stdout);
  file.results.push_back(own);
}

void Session::PrintSummary() const {
  int64_t num_samples = 0;
  int64_t num_disturbed = 0;
  for (const Result& result : file.results) {
    num_samples += result.timing.repeats;
    num_disturbed += result.timing.num_disturbed;
  }
  std::printf("%lld of %lld samples were disturbed by other processes\n",
              static_cast<long long>(num_disturbed), static_cast<long long>(num_samples));
  PrintMeans();
}

void Session::PrintMeans() const {
  struct Mean {
    double log_sum = 0.0;
    int count = 0;
  };
  std::map<std::string, Mean> means;
  for (const Result& result : file.results) {
    if (!result.ratio) continue;
    const size_t slash = result.case_name.rfind('/');
    const bool is_scan = result.operation == "scan_forward";
    const std::string caches = is_scan ? "" : " " + result.case_name.substr(slash + 1);
    Mean& mean = means[result.operation + caches];
    mean.log_sum += std::log(result.ratio->median);
    ++mean.count;
  }
  for (const auto& [name, mean] : means) {
    std::printf("%s: geometric mean of %d ratios: x%.3f of %s\n", name.c_str(), mean.count,
                std::exp(mean.log_sum / mean.count), peer->name().c_str());
  }
}

std::string KernelOf(const Plan& plan) {
  const auto description = nlohmann::json::parse(plan.Describe());
  testing::Target target;
  target.backend = description.at("backend");
  target.kernel = description.at("kernel");
  target.instruction_set = description.at("instruction_set");
  return target.Name();
}

std::string InstructionSetOf(const Plan& plan) {
  return nlohmann::json::parse(plan.Describe()).at("instruction_set");
}

}  // namespace tilescan::bench
