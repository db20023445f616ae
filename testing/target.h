// Where a call runs: backend, kernel, instruction set, threads.
#ifndef TILESCAN_TESTING_TARGET_H_
#define TILESCAN_TESTING_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tilescan/tilescan.h"

namespace tilescan::testing {

// Empty: the planner chooses.
struct Target {
  std::string backend;
  std::string kernel;
  std::string instruction_set;
  int32_t num_threads = 0;  // 0: all the process may use
  bool is_general = true;   // takes every valid problem, those with float64 operands aside

  // Whether operands must be in a GPU's memory.
  bool IsOnDevice() const;

  // "cpu/chunked/avx2", "reference/stages", ...: the parts that are set, "default" for none.
  std::string Name() const;
  // Options that ask for this target. Points into it.
  tilescan_options Options() const;
};

// The kernels of the library for an operation, "scan_forward" or "state_update", as tilescan_info()
// lists them, on what this machine has. All of them:
std::vector<Target> AllTargets(const std::string& operation);
// Those that take every problem:
std::vector<Target> AvailableTargets(const std::string& operation);
// Of these, those that compute on the CPU:
std::vector<Target> HostTargets(const std::string& operation);
// Those that take every problem of some dtype of x: AvailableTargets(), and those of the CPU that
// take bf16 only. For tests whose problems are of DTypesOf() the target.
std::vector<Target> TargetsOfSomeDType(const std::string& operation);
std::vector<DType> DTypesOf(const Target& target);
// The most precise of these.
DType WidestDType(const Target& target);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_TARGET_H_
