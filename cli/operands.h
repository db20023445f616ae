// The operands of an operation by their field names.
#ifndef TILESCAN_CLI_OPERANDS_H_
#define TILESCAN_CLI_OPERANDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cli/options.h"
#include "cli/safetensors.h"
#include "tilescan/tilescan.h"

namespace tilescan::cli {

using OperationArgs = std::variant<tilescan_scan_forward_args, tilescan_state_update_args>;

Operation OperationOf(const OperationArgs& args);

// An operand: its field's name and the field, which points into the args.
struct Operand {
  std::string name;
  tilescan_tensor* tensor;
};

// In the order of the struct. state, of state_update, is both an input and an output.
std::vector<Operand> InputOperands(OperationArgs* args);
std::vector<Operand> OutputOperands(OperationArgs* args);

// An input tensor of this prefix and an output's name is what that output should be.
inline constexpr const char* kExpectedPrefix = "expected_";

// args of the operation with options set and every operand absent.
OperationArgs EmptyArgs(const ProblemOptions& options);

// Binds the file's tensors to the input operands of their names. Throws Error if a tensor is
// neither an operand nor the expected value of an output.
void BindInputs(SafetensorsFile* file, OperationArgs* args);

// Describes the outputs that follow from the inputs and options: dtype, shape, no memory. An output
// whose shape does not follow, since an input is wrong, stays absent: planning reports the input.
void DescribeOutputs(const ProblemOptions& options, OperationArgs* args);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_OPERANDS_H_
