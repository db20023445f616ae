// tilescan plan: what would run for a problem, and why, without running it.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/error.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/library.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/plan_text.h"
#include "cli/problem_sizes.h"
#include "cli/safetensors.h"

namespace tilescan::cli {
namespace {

struct PlanFlags {
  std::string input_path;
  SizeFlags sizes;
  ProblemOptions options;
  ComputeOptions compute;
  std::string json_path;
};

OperationArgs ArgsOfFile(const PlanFlags& flags, ProblemOptions* options) {
  if (flags.sizes.AnyGiven()) throw Error("plan: give a file, or sizes, not both");
  SafetensorsFile file(flags.input_path);
  *options = Override(flags.options, OptionsFromMetadata(file.content().metadata, file.path()));
  OperationArgs args = EmptyArgs(*options);
  BindInputs(&file, &args);
  // Planning looks at shapes and dtypes only, so the file may be closed on return.
  for (Operand& input : InputOperands(&args)) input.tensor->data = nullptr;
  return args;
}

int RunPlanCommand(const PlanFlags& flags) {
  ProblemOptions options = flags.options;
  OperationArgs args =
      flags.input_path.empty() ? ArgsOfSizes(flags.sizes, options) : ArgsOfFile(flags, &options);
  DescribeOutputs(options, &args);
  const Plan plan = MakePlan(args, flags.compute.ToLibrary(options.chunk_size.value_or(0)));
  const nlohmann::ordered_json description = DescribePlan(plan);
  if (!flags.json_path.empty()) WriteTextFile(flags.json_path, JsonText(description));
  if (flags.json_path != "-") std::cout << PlanText(description) << RejectedText(description);
  return kExitOk;
}

}  // namespace

Command AddPlanCommand(CLI::App* parent) {
  CLI::App* app =
      parent->add_subcommand("plan", "Show what would run for a problem, and why, without running");
  const auto flags = std::make_shared<PlanFlags>();
  app->add_option("FILE", flags->input_path,
                  "A safetensors file that holds the operands, instead of sizes");
  AddSizeFlags(app, &flags->sizes);
  AddOperationFlag(app, &flags->options);
  AddStateDTypeFlag(app, &flags->options);
  AddChunkSizeFlag(app, &flags->options);
  AddScanOptionFlags(app, &flags->options);
  AddComputeFlags(app, &flags->compute);
  AddJsonFlag(app, &flags->json_path);
  app->footer(
      "Examples:\n"
      "  tilescan plan --preset mamba2-2.7b --seqlen 8192 --dtype bf16\n"
      "  tilescan plan --seqlen 512 --nheads 24 --headdim 64 --dstate 128\n"
      "  tilescan plan --preset mamba2-130m --operation state_update --batch 8\n"
      "  tilescan plan layer.safetensors --json -");
  return {app, [flags] { return RunPlanCommand(*flags); }};
}

}  // namespace tilescan::cli
