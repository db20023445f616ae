// Where and how a measurement was made, for result files.
#ifndef TILESCAN_TESTING_ENVIRONMENT_H_
#define TILESCAN_TESTING_ENVIRONMENT_H_

#include <cstdint>
#include <string>

namespace tilescan::testing {

struct Environment {
  std::string device;           // what computes: "cpu", or a GPU's name
  std::string driver;           // of the device; for a CPU the operating system's kernel
  std::string clocks;           // of a GPU, as its driver tells them; empty: not told, or no GPU
  std::string cpu;              // as the processor calls itself
  std::string cpu_model;        // "family 25 model 1"; empty where that is not told
  std::string instruction_set;  // the best that the library has for it
  int64_t l2_cache_bytes = 0;   // per core; 0: unknown
  int64_t l3_cache_bytes = 0;
  int32_t num_processors = 0;  // that the process may use
  int32_t num_threads = 0;     // that computed
  std::string version;         // of the library
  std::string commit;          // of its source, "-dirty" when that was changed
  std::string compiler;
  std::string build_type;
  std::string flags;
  std::string date;  // UTC, "2026-11-30T08:15:00Z"
};

// Of this machine, this build, now. num_threads: 0 for all that the process may use.
Environment DescribeEnvironment(int32_t num_threads);

// The same with the current GPU as the device, if there is one that the library can use.
Environment DescribeDeviceEnvironment(int32_t num_threads);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_ENVIRONMENT_H_
