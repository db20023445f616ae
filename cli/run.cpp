// tilescan run: the operands of a file through an operation; time, throughput, errors against
// expected values; the outputs to a file.
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/expected.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/library.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/output_memory.h"
#include "cli/plan_text.h"
#include "cli/safetensors.h"
#include "cli/timed_run.h"
#include "cli/work.h"

namespace tilescan::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  std::string input_path;
  std::string output_path;
  ProblemOptions options;
  ComputeOptions compute;
  int32_t repeats = 1;
  std::optional<double> check;
  std::string json_path;
};

// dt_limit may be infinite, which JSON has no number for.
Json LimitJson(float limit) {
  if (std::isinf(limit)) return limit > 0 ? "inf" : "-inf";
  return limit;
}

Json OptionsJson(const OperationArgs& args) {
  Json json = std::visit(
      [](const auto& of_operation) -> Json {
        return {{"dt_softplus", of_operation.dt_softplus != 0},
                {"dt_limit", Json::array({LimitJson(of_operation.dt_limit[0]),
                                          LimitJson(of_operation.dt_limit[1])})}};
      },
      args);
  if (const auto* scan = std::get_if<tilescan_scan_forward_args>(&args)) {
    json["states_every"] = scan->states_every;
  }
  return json;
}

Json ThroughputJson(const Work& work, double time_us) {
  const double time_s = time_us * 1e-6;
  return {{"tokens_per_s", work.num_tokens / time_s},
          {"gbytes_per_s", work.num_bytes / time_s * 1e-9},
          {"gflops_per_s", work.num_flops / time_s * 1e-9}};
}

Json ExpectedJson(const std::vector<Difference>& differences, std::optional<double> limit) {
  Json rows = Json::array();
  for (const Difference& difference : differences) {
    Json row = {{"name", difference.name},
                {"relative_l2", difference.relative_l2},
                {"max_abs_error", difference.max_abs_error}};
    if (limit) {
      row["limit"] = *limit;
      row["passed"] = difference.relative_l2 <= *limit;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ReportText(const Json& report) {
  const Json& time = report.at("time");
  const Json& rate = report.at("throughput");
  const int32_t repeats = time.at("repeats").get<int32_t>();
  std::string text = PlanText(report.at("plan"));
  text += Row("time",
              TimeText(time.at("median_us")) +
                  (repeats == 1 ? " (one run)"
                                : Concat(" (median of ", repeats, "; ", TimeText(time.at("min_us")),
                                         " to ", TimeText(time.at("max_us")), ")")));
  text += Row("throughput", Concat(FigureText(rate.at("tokens_per_s")), " tokens/s, ",
                                   FigureText(rate.at("gbytes_per_s")), " GB/s, ",
                                   FigureText(rate.at("gflops_per_s")), " GFLOP/s"));
  for (const Json& row : report.at("expected")) {
    std::string verdict;
    if (row.contains("passed")) {
      verdict = Concat(row.at("passed").get<bool>() ? "; within " : "; NOT within ",
                       ErrorText(row.at("limit")), " relative L2");
    }
    text += Row(PlainText(row.at("name")),
                Concat("differs from expected by ", ErrorText(row.at("relative_l2")),
                       " relative L2, ", ErrorText(row.at("max_abs_error")), " at most", verdict));
  }
  if (report.contains("output")) text += Row("written", PlainText(report.at("output")));
  return text;
}

struct Computed {
  Json report;
  bool passed = true;
};

Computed Compute(const RunFlags& flags) {
  SafetensorsFile file(flags.input_path);
  const ProblemOptions options =
      Override(flags.options, OptionsFromMetadata(file.content().metadata, file.path()));
  OperationArgs args = EmptyArgs(options);
  BindInputs(&file, &args);
  DescribeOutputs(options, &args);
  const Plan plan = MakePlan(args, flags.compute.ToLibrary(options.chunk_size.value_or(0)));
  CheckExpected(&file, &args);

  OutputMemory outputs(&args);
  const Timing timing = RunAndTime(plan, args, flags.repeats, &outputs);
  const std::vector<Difference> differences = CompareWithExpected(&file, outputs.tensors());
  if (flags.check && differences.empty()) {
    throw Error(Concat(file.path(), ": --check needs tensors named ", kExpectedPrefix,
                       "NAME, NAME an output"));
  }
  const char* operation = OperationName(OperationOf(args));
  if (!flags.output_path.empty()) {
    WriteSafetensors(flags.output_path, outputs.tensors(), {{"operation", operation}});
  }

  const Json description = DescribePlan(plan);
  Computed computed;
  computed.report = {
      {"operation", operation},
      {"input", flags.input_path},
      {"plan", description},
      {"options", OptionsJson(args)},
      {"time",
       {{"median_us", timing.median_us},
        {"min_us", timing.min_us},
        {"max_us", timing.max_us},
        {"repeats", timing.repeats}}},
      {"throughput", ThroughputJson(WorkOf(description.at("sizes"), &args), timing.median_us)},
      {"expected", ExpectedJson(differences, flags.check)}};
  if (!flags.output_path.empty()) computed.report["output"] = flags.output_path;
  for (const Difference& difference : differences) {
    computed.passed = computed.passed && (!flags.check || difference.relative_l2 <= *flags.check);
  }
  return computed;
}

int Run(const RunFlags& flags) {
  RequireWritable(flags.output_path);
  RequireWritable(flags.json_path);
  const Computed computed = Compute(flags);
  if (!flags.json_path.empty()) WriteTextFile(flags.json_path, JsonText(computed.report));
  if (flags.json_path != "-") std::cout << ReportText(computed.report);
  if (computed.passed) return kExitOk;
  std::cerr << "tilescan: check failed: an output differs from its expected value by more than "
            << *flags.check << " relative L2\n";
  return kExitCheckFailed;
}

}  // namespace

Command AddRunCommand(CLI::App* parent) {
  CLI::App* app = parent->add_subcommand("run", "Compute the problem in a safetensors file");
  const auto flags = std::make_shared<RunFlags>();
  app->add_option("FILE", flags->input_path,
                  "The operands by their field names, options in __metadata__")
      ->required();
  app->add_option("-o,--output", flags->output_path, "Write the outputs here, as safetensors")
      ->type_name("FILE");
  AddOperationFlag(app, &flags->options);
  AddScanOptionFlags(app, &flags->options);
  AddStateDTypeFlag(app, &flags->options);
  AddChunkSizeFlag(app, &flags->options);
  AddComputeFlags(app, &flags->compute);
  app->add_option("--repeats", flags->repeats, "Time the median of N runs (default: one run)")
      ->type_name("N")
      ->check(AtLeast(1));
  AddParsedFlag(app, "--check", ParseTolerance, &flags->check,
                "Fail unless every expected_NAME tensor agrees within this relative L2 error",
                "LIMIT");
  AddJsonFlag(app, &flags->json_path);
  app->footer(
      "Flags override the file's __metadata__ (operation, dt_softplus, dt_limit, states_every,\n"
      "chunk_size, state_dtype). The outputs out, final_states and, with --states-every,\n"
      "states_out are written; for state_update state and out.\n"
      "Examples:\n"
      "  tilescan run layer.safetensors -o result.safetensors\n"
      "  tilescan run layer.safetensors --check 3e-5 --repeats 20\n"
      "  tilescan run step.safetensors --operation state_update --threads 1 --json -");
  return {app, [flags] { return Run(*flags); }};
}

}  // namespace tilescan::cli
