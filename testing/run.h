// One call through the public interface, with nothing but its operands and an exact workspace.
#ifndef TILESCAN_TESTING_RUN_H_
#define TILESCAN_TESTING_RUN_H_

#include <string>

#include "testing/operands.h"
#include "tilescan/tilescan.h"

namespace tilescan::testing {

struct RunResult {
  tilescan_status status = TILESCAN_INTERNAL;
  std::string message;   // of the library; empty when the status is TILESCAN_OK
  std::string plan;      // what ran, in JSON; empty when planning failed
  double seconds = 0.0;  // of the run alone
  // The bytes around the workspace and between the operands' elements are as they were.
  bool surroundings_intact = false;

  bool ok() const { return status == TILESCAN_OK && surroundings_intact; }
};

// Plans and runs. The workspace is as large as the plan asks for, begins at an odd address and is
// full of NaN.
RunResult RunCall(const ScanOperands& operands, const tilescan_options& options);
RunResult RunCall(const StateUpdateOperands& operands, const tilescan_options& options);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_RUN_H_
