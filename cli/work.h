// What a problem takes, whatever the algorithm: the figures that rates are made of.
#ifndef TILESCAN_CLI_WORK_H_
#define TILESCAN_CLI_WORK_H_

#include <nlohmann/json_fwd.hpp>

#include "cli/operands.h"

namespace tilescan::cli {

struct Work {
  double num_tokens = 0.0;
  // Every operand and output once; the states of state_update once read and once written.
  double num_bytes = 0.0;
  double num_flops = 0.0;  // RecurrenceFlops() of testing/workload.h
};

// sizes: those that the plan of these args describes.
Work WorkOf(const nlohmann::ordered_json& sizes, OperationArgs* args);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_WORK_H_
