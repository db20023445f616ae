// A problem described by its sizes: flags, or a preset that flags override.
#ifndef TILESCAN_CLI_PROBLEM_SIZES_H_
#define TILESCAN_CLI_PROBLEM_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cli/operands.h"
#include "cli/options.h"
#include "testing/presets.h"

namespace CLI {
class App;
}

namespace tilescan::cli {

// Empty: not given.
struct SizeFlags {
  std::string preset;
  std::optional<int64_t> batch;
  std::optional<int64_t> seqlen;
  std::optional<int64_t> nheads;
  std::optional<int64_t> headdim;
  std::optional<int64_t> dstate;
  std::optional<int64_t> ngroups;
  std::optional<tilescan_dtype> dtype;

  bool AnyGiven() const {
    return !preset.empty() || batch || seqlen || nheads || headdim || dstate || ngroups || dtype;
  }
};

// Throws Error, with the names there are, if there is no preset of this name.
const testing::ModelPreset& FindPreset(const std::string& name);

void AddSizeFlags(CLI::App* command, SizeFlags* flags);

// The operands that models have (D and dt_bias among them), of these sizes and without memory:
// enough to plan. seqlen has no meaning for state_update, which takes one step. Throws Error if a
// size is missing, or the preset unknown.
OperationArgs ArgsOfSizes(const SizeFlags& flags, const ProblemOptions& options);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_PROBLEM_SIZES_H_
