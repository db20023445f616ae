#include "bench/options.h"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

#include "testing/presets.h"

namespace tilescan::bench {
namespace {

constexpr const char* kDescription =
    "Times tilescan's CPU kernels on the shapes of models, alone or beside a peer in the same "
    "rounds, and holds each result against the float64 recurrence first.";

constexpr const char* kExamples =
    "Examples:\n"
    "  cpu_bench --operation scan_forward --preset mamba2-130m --seqlen 2048\n"
    "  cpu_bench --peer ./libggml_peer.so --threads 2 --json bench/results/cpu-float32.json\n"
    "  cpu_bench --operation state_update --caches cold --state-dtype bfloat16\n"
    "A peer is a library that offers bench/peer.h.";

const std::map<std::string, DType> kFloatDTypes = {
    {"float32", DType::kFloat32}, {"bfloat16", DType::kBFloat16}, {"float16", DType::kFloat16}};

constexpr const char* kDTypeText = "{float32,bfloat16,float16}=float32";

int32_t NumProcessors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void AddCaseFlags(CLI::App& app, BenchOptions* options) {
  std::vector<std::string> names;
  for (const testing::ModelPreset& preset : testing::ModelPresets()) names.push_back(preset.name);
  app.add_option("--operation", options->operations, "What to time")
      ->check(CLI::IsMember({"scan_forward", "state_update"}))
      ->capture_default_str();
  app.add_option("--preset", options->presets, "Models whose shapes to take")
      ->check(CLI::IsMember(names))
      ->type_name("NAME ...")
      ->capture_default_str();
  app.add_option("--seqlen", options->seqlens, "Tokens, for scan_forward (batch 1)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--batch", options->batches, "Batches, for state_update")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--caches", options->caches,
                 "For state_update: hot steps one state again and again, cold the states of many "
                 "layers in turn, so that each comes from memory")
      ->check(CLI::IsMember({"hot", "cold"}))
      ->capture_default_str();
  app.add_option("--dtype", options->dtypes.operands, "Of x, B, C and out")
      ->transform(CLI::CheckedTransformer(kFloatDTypes))
      ->option_text(kDTypeText);
  app.add_option("--state-dtype", options->dtypes.states, "Of the states")
      ->transform(CLI::CheckedTransformer(kFloatDTypes))
      ->option_text(kDTypeText);
}

void AddMeasuringFlags(CLI::App& app, BenchOptions* options) {
  app.add_option("--rounds", options->num_rounds, "Samples of each implementation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", options->policy.num_threads, "Threads of each implementation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sample-seconds", options->policy.sample_seconds, "Length of a sample")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--patience", options->policy.patience_seconds,
                 "Seconds to try for one sample that no other process disturbs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--backend", options->target.backend, "Backend, instead of the planner's choice");
  app.add_option("--kernel", options->target.kernel, "Kernel, instead of the planner's choice");
  app.add_option("--instruction-set", options->target.instruction_set,
                 "Instruction set, instead of the planner's choice");
  app.add_option("--peer", options->peer_path, "Another implementation to measure beside")
      ->type_name("LIBRARY");
  app.add_option("--json", options->json_path, "Where to write the results")->type_name("FILE");
}

}  // namespace

BenchOptions ParseOptions(int argc, char** argv) {
  BenchOptions options;
  options.policy.num_threads = NumProcessors();
  CLI::App app(kDescription, "cpu_bench");
  app.footer(kExamples);
  AddCaseFlags(app, &options);
  AddMeasuringFlags(app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  options.target.num_threads = options.policy.num_threads;
  return options;
}

}  // namespace tilescan::bench
