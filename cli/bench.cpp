// tilescan bench: models' shapes by name, timed beside the machine's ceilings.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench_case.h"
#include "cli/commands.h"
#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/problem_sizes.h"
#include "cli/progress.h"
#include "testing/ceilings.h"
#include "testing/device_memory.h"
#include "testing/environment.h"
#include "testing/presets.h"
#include "testing/result_file.h"

namespace tilescan::cli {
namespace {

using testing::Result;

struct BenchFlags {
  std::vector<std::string> presets = {"mamba2-130m"};
  std::vector<int64_t> seqlens;
  std::vector<int64_t> batches;
  std::optional<tilescan_dtype> dtype;
  ProblemOptions options;
  BenchSettings settings;
  std::string json_path;
};

std::vector<BenchCase> Cases(const BenchFlags& flags) {
  const Operation operation = flags.options.operation_or_default();
  const bool is_scan = operation == Operation::kScanForward;
  if (!is_scan && !flags.seqlens.empty()) {
    throw Error("bench: --seqlen is a size of scan_forward; state_update is a step");
  }
  const auto or_default = [](const std::vector<int64_t>& given, std::vector<int64_t> otherwise) {
    return given.empty() ? otherwise : given;
  };
  const std::vector<int64_t> seqlens =
      is_scan ? or_default(flags.seqlens, {512, 2048, 8192}) : std::vector<int64_t>{1};
  const std::vector<int64_t> batches =
      or_default(flags.batches, is_scan ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 8, 32});
  const tilescan_dtype dtype = flags.dtype.value_or(tilescan_float32());
  const tilescan_dtype state_dtype =
      flags.options.state_dtype.value_or(dtype.bits > 32 ? dtype : tilescan_float32());
  std::vector<BenchCase> cases;
  for (const std::string& preset : flags.presets) {
    for (const int64_t batch : batches) {
      for (const int64_t seqlen : seqlens) {
        cases.push_back({&FindPreset(preset), operation, batch, seqlen, dtype, state_dtype});
      }
    }
  }
  return cases;
}

std::string ResultText(const Result& result) {
  const testing::Timing& timing = result.timing;
  std::string text = Concat(result.case_name, "  ", result.dtype, "  ", result.kernel, "\n    ",
                            TimeText(timing.median_us), " (median of ", timing.repeats, "; ",
                            TimeText(timing.min_us), " to ", TimeText(timing.max_us), "), ",
                            FigureText(result.figures.at("ns_per_token_head")),
                            " ns per token and head, ", FigureText(result.figures.at("gflops")),
                            " GFLOP/s, ", FigureText(result.figures.at("gbytes_per_s")), " GB/s");
  const auto fraction = result.figures.find("fraction_of_ceiling");
  if (fraction != result.figures.end()) {
    text += Concat(", ", FigureText(100.0 * fraction->second), " % of the ceiling");
  }
  if (timing.num_disturbed > 0) {
    text += Concat("; ", timing.num_disturbed, " of the samples shared their processors");
  }
  text += Concat("\n    error of out ", ErrorText(result.error_out.value_or(0)), ", of the state ",
                 ErrorText(result.error_state.value_or(0)),
                 " (relative L2, against float64, first and last head)\n");
  if (!result.ratio) return text;
  text +=
      Concat("    ", FigureText(result.ratio->median), " times as fast as ", result.ratio->against,
             " (", FigureText(result.ratio->min), " to ", FigureText(result.ratio->max),
             "); differs from it by ", ErrorText(result.figures.at("difference_out")), " in out, ",
             ErrorText(result.figures.at("difference_state")), " in the state (relative L2)\n");
  return text;
}

std::string CeilingsText(const testing::Ceilings& ceilings) {
  std::string text = "ceilings, measured in this run:";
  for (const auto& [name, rate] : ceilings.measured()) {
    text += Concat(" ", name, " ", FigureText(rate.median), " (", FigureText(rate.min), " to ",
                   FigureText(rate.max), ")");
  }
  return text + "\n";
}

std::string EnvironmentText(const testing::Environment& environment, bool is_on_device) {
  std::string text;
  if (is_on_device) {
    text = Concat(environment.device, ", driver ", environment.driver);
    if (!environment.clocks.empty()) text += Concat(", ", environment.clocks);
  } else {
    text = Concat(environment.cpu, ", ", environment.num_threads, " threads");
  }
  return Concat(text, ", tilescan ", environment.version, " (", environment.build_type, ")\n");
}

int Bench(const BenchFlags& flags) {
  RequireWritable(flags.json_path);
  const std::vector<BenchCase> cases = Cases(flags);
  BenchSettings settings = flags.settings;
  settings.chunk_size = flags.options.chunk_size.value_or(0);
  const int64_t num_contenders = settings.compared_backend.empty() ? 1 : 2;
  testing::ResultFile file;
  const bool is_on_device = testing::IsOnDevice(settings.compute.backend.c_str());
  file.environment = is_on_device ? testing::DescribeDeviceEnvironment(settings.compute.num_threads)
                                  : testing::DescribeEnvironment(settings.compute.num_threads);
  testing::SamplePolicy policy;
  policy.num_threads = file.environment.num_threads;
  testing::Ceilings ceilings(policy);
  Progress progress(static_cast<int64_t>(cases.size()) * settings.num_samples * num_contenders);
  const bool prints_text = flags.json_path != "-";
  for (const BenchCase& bench_case : cases) {
    const auto on_sample = [&] { progress.Step("samples, now of " + bench_case.Name()); };
    for (Result& result : MeasureCase(bench_case, settings, on_sample, &ceilings)) {
      progress.Clear();
      if (prints_text && file.results.empty()) {
        std::cout << EnvironmentText(file.environment, is_on_device);
      }
      if (prints_text) std::cout << ResultText(result) << std::flush;
      file.results.push_back(std::move(result));
    }
  }
  if (prints_text) std::cout << CeilingsText(ceilings);
  file.ceilings = ceilings.measured();
  if (!flags.json_path.empty()) WriteTextFile(flags.json_path, testing::ResultFileText(file));
  return kExitOk;
}

}  // namespace

Command AddBenchCommand(CLI::App* parent) {
  CLI::App* app = parent->add_subcommand(
      "bench", "Measure models' shapes: medians with spread, rates, per cent of the ceiling");
  const auto flags = std::make_shared<BenchFlags>();
  app->add_option("--preset", flags->presets, "Models, by name (default: mamba2-130m)")
      ->type_name("NAME");
  app->add_option("--seqlen", flags->seqlens, "Tokens (default: 512 2048 8192)")
      ->type_name("N")
      ->delimiter(',')
      ->check(AtLeast(1));
  app->add_option("--batch", flags->batches,
                  "Sequences at once (default: 1; for state_update 1 8 32)")
      ->type_name("N")
      ->delimiter(',')
      ->check(AtLeast(1));
  AddOperationFlag(app, &flags->options);
  AddParsedFlag(app, "--dtype", ParseFloatDType, &flags->dtype,
                "Type of x, B, C and out: fp32 (default), bf16, fp16 or fp64", "TYPE");
  AddStateDTypeFlag(app, &flags->options);
  AddChunkSizeFlag(app, &flags->options);
  AddComputeFlags(app, &flags->settings.compute);
  app->add_option("--compare", flags->settings.compared_backend,
                  "Take samples of this backend in turn, and show the ratio")
      ->type_name("BACKEND");
  app->add_option("--repeats", flags->settings.num_samples, "Samples of each case (default: 7)")
      ->type_name("N")
      ->check(AtLeast(1));
  AddJsonFlag(app, &flags->json_path);
  app->footer(Concat(
      "Every result is checked against the recurrence in float64 before it is timed.\n"
      "A sample is enough calls to last a tenth of a second. The ceiling of a scan is the\n"
      "machine's multiply-adds or its copy through memory, whichever is nearer; that of\n"
      "state_update, whose states come from memory, is a pass over them in place.\n"
      "On a GPU a sample is about 40 calls after a pause, on the GPU's clock; the ceiling is a\n"
      "copy of its memory.\n"
      "Presets: ",
      testing::ModelPresetNames(),
      "\nExamples:\n"
      "  tilescan bench --preset mamba2-2.7b --seqlen 2048\n"
      "  tilescan bench --preset mamba2-130m --seqlen 512,2048 --compare reference\n"
      "  tilescan bench --operation state_update --batch 1,8 --json bench.json\n"
      "  tilescan bench --backend cuda --preset mamba2-2.7b --dtype bf16"));
  return {app, [flags] { return Bench(*flags); }};
}

}  // namespace tilescan::cli
