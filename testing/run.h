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
// full of NaN. For a backend that computes on a GPU the operands are copied there and back.
template <typename Operands>
RunResult RunCall(const Operands& operands, const tilescan_options& options);

// The same of args, of which only the surroundings of the workspace, and on a GPU of the copies,
// are looked at.
template <typename Args>
RunResult RunArgs(const Args& args, const tilescan_options& options);

// Runs a plan that the caller made and keeps.
template <typename Args>
RunResult RunPlanned(const tilescan_plan* plan, const Args& args);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_RUN_H_
