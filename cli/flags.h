// The flags that several subcommands have.
#ifndef TILESCAN_CLI_FLAGS_H_
#define TILESCAN_CLI_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/error.h"
#include "cli/options.h"

namespace tilescan::cli {

// Adds a flag whose text parse() turns into a value; CLI11 reports what parse() throws with the
// flag's name before it.
template <typename Value>
void AddParsedFlag(CLI::App* command, const std::string& flag, Value (*parse)(const std::string&),
                   std::optional<Value>* target, const std::string& description,
                   const std::string& type_name) {
  const auto store = [flag, parse, target](const std::string& text) {
    try {
      *target = parse(text);
    } catch (const Error& error) {
      throw CLI::ValidationError(flag, error.what());
    }
  };
  command->add_option_function<std::string>(flag, store, description)->type_name(type_name);
}

// For integers.
CLI::Validator AtLeast(int64_t minimum);

// Add the flags to a subcommand. The options must live until the command line is parsed.
void AddComputeFlags(CLI::App* command, ComputeOptions* compute);
void AddOperationFlag(CLI::App* command, ProblemOptions* options);
void AddStateDTypeFlag(CLI::App* command, ProblemOptions* options);
void AddChunkSizeFlag(CLI::App* command, ProblemOptions* options);
// --dt-softplus, --no-dt-softplus, --dt-limit, --states-every
void AddScanOptionFlags(CLI::App* command, ProblemOptions* options);
// --json
void AddJsonFlag(CLI::App* command, std::string* path);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_FLAGS_H_
