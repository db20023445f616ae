// Where a call runs: backend, kernel, instruction set, threads.
#ifndef TILESCAN_TESTING_TARGET_H_
#define TILESCAN_TESTING_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tilescan/tilescan.h"

namespace tilescan::testing {

// Empty: the planner chooses.
struct Target {
  std::string backend;
  std::string kernel;
  std::string instruction_set;
  int32_t num_threads = 0;  // 0: all the process may use

  // "cpu/chunked/avx2", "reference/stages", ...: the parts that are set, "default" for none.
  std::string Name() const;
  // Options that ask for this target. Points into it.
  tilescan_options Options() const;
};

// Every kernel of the library for an operation, "scan_forward" or "state_update", the instruction
// sets only that this machine has, as tilescan_info() lists them.
std::vector<Target> AvailableTargets(const std::string& operation);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_TARGET_H_
