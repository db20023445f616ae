// The options of a problem and of its computation, from flags and from a file's metadata.
#ifndef TILESCAN_CLI_OPTIONS_H_
#define TILESCAN_CLI_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tilescan/tilescan.h"

namespace tilescan::cli {

enum class Operation { kScanForward, kStateUpdate };

const char* OperationName(Operation operation);

// What a file's __metadata__ may say and flags may override. Empty: not said.
struct ProblemOptions {
  std::optional<Operation> operation;
  std::optional<bool> dt_softplus;
  std::optional<std::pair<float, float>> dt_limit;
  std::optional<int64_t> states_every;
  std::optional<int64_t> chunk_size;
  std::optional<tilescan_dtype> state_dtype;

  Operation operation_or_default() const { return operation.value_or(Operation::kScanForward); }
};

// Reads the keys named as the fields above. Other keys are free text and are left alone. Throws
// Error, with where before the key, if a value cannot be read.
ProblemOptions OptionsFromMetadata(const std::map<std::string, std::string>& metadata,
                                   const std::string& where);

// Each option from over where it says it, else from under.
ProblemOptions Override(const ProblemOptions& over, const ProblemOptions& under);

// Where and with what to compute. Empty or 0: left to the library.
struct ComputeOptions {
  std::string backend;
  std::string kernel;
  std::string instruction_set;
  int32_t num_threads = 0;

  // Points into this object.
  tilescan_options ToLibrary(int64_t chunk_size) const;
};

// Values as flags and metadata write them; they throw Error saying what was expected.
Operation ParseOperation(const std::string& text);
std::pair<float, float> ParseLimits(const std::string& text);
tilescan_dtype ParseFloatDType(const std::string& text);
int64_t ParseCount(const std::string& text);
double ParseTolerance(const std::string& text);

// Absent if the text is something else, or beyond int64_t.
std::optional<int64_t> ParseInteger(const std::string& text);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_OPTIONS_H_
