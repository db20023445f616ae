// A plan run and timed, with its operands where its backend computes.
#ifndef TILESCAN_CLI_TIMED_RUN_H_
#define TILESCAN_CLI_TIMED_RUN_H_

#include <cstdint>

#include "cli/library.h"
#include "cli/operands.h"
#include "cli/output_memory.h"

namespace tilescan::cli {

struct Timing {
  double median_us = 0.0;
  double min_us = 0.0;
  double max_us = 0.0;
  int32_t repeats = 0;
};

// Runs once, or, to have a median of undisturbed runs, once untimed and then repeats times. The
// outputs are those of one run. Operands of a GPU's backend are copied there and back, which is not
// timed. Throws Error.
Timing RunAndTime(const Plan& plan, const OperationArgs& args, int32_t repeats,
                  OutputMemory* outputs);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_TIMED_RUN_H_
