#include "cli/flags.h"

#include "cli/safetensors_header.h"

namespace tilescan::cli {

CLI::Validator AtLeast(int64_t minimum) {
  return CLI::Validator(
      [minimum](const std::string& text) -> std::string {
        // CLI11's own conversion takes a number beyond int64_t for the largest.
        const std::optional<int64_t> value = ParseInteger(text);
        if (value && *value >= minimum) return "";
        return Concat("expected at least ", minimum, ", got ", Quote(text));
      },
      /*validator_desc=*/"");
}

void AddComputeFlags(CLI::App* command, ComputeOptions* compute) {
  command->add_option("--backend", compute->backend, "Backend: cpu, cuda or reference")
      ->type_name("NAME");
  command->add_option("--kernel", compute->kernel, "Force a kernel, named as 'tilescan plan' does")
      ->type_name("NAME");
  command
      ->add_option("--instruction-set", compute->instruction_set,
                   "Force an instruction set, named as 'tilescan info' does")
      ->type_name("NAME");
  command->add_option("--threads", compute->num_threads, "CPU threads; 0: all")
      ->type_name("N")
      ->check(AtLeast(0));
}

void AddOperationFlag(CLI::App* command, ProblemOptions* options) {
  AddParsedFlag(command, "--operation", ParseOperation, &options->operation,
                "scan_forward (default) or state_update", "NAME");
}

void AddStateDTypeFlag(CLI::App* command, ProblemOptions* options) {
  AddParsedFlag(command, "--state-dtype", ParseFloatDType, &options->state_dtype,
                "Type of the states: fp32, bf16, fp16 or fp64", "TYPE");
}

void AddChunkSizeFlag(CLI::App* command, ProblemOptions* options) {
  AddParsedFlag(command, "--chunk-size", ParseCount, &options->chunk_size,
                "Tokens in a tile of the scan; 0: the kernel's choice", "N");
}

void AddScanOptionFlags(CLI::App* command, ProblemOptions* options) {
  command->add_flag_function(
      "--dt-softplus,!--no-dt-softplus",
      [options](int64_t count) { options->dt_softplus = count > 0; },
      "Whether softplus is applied to dt + dt_bias");
  AddParsedFlag(command, "--dt-limit", ParseLimits, &options->dt_limit,
                "Clamp the processed step, like 0,inf (the default)", "LOW,HIGH");
  AddParsedFlag(command, "--states-every", ParseCount, &options->states_every,
                "Also return the states after every N tokens; 0: do not", "N");
}

void AddJsonFlag(CLI::App* command, std::string* path) {
  command
      ->add_option("--json", *path, "Write the result as JSON; '-' is stdout, in place of the text")
      ->type_name("FILE");
}

}  // namespace tilescan::cli
