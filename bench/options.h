// What cpu_bench is asked to measure.
#ifndef TILESCAN_BENCH_OPTIONS_H_
#define TILESCAN_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testing/target.h"
#include "testing/timer.h"
#include "testing/workload.h"

namespace tilescan::bench {

struct BenchOptions {
  // Cases: presets x seqlens for scan_forward, presets x batches x hot and cold for state_update.
  std::vector<std::string> operations = {"scan_forward", "state_update"};
  std::vector<std::string> presets = {"mamba2-130m", "mamba2-370m", "mamba2-2.7b",
                                      "codestral-mamba-7b"};
  std::vector<int64_t> seqlens = {512, 2048, 8192};
  std::vector<int64_t> batches = {1, 8, 32};
  std::vector<std::string> caches = {"hot", "cold"};
  testing::WorkloadDTypes dtypes;

  int64_t num_rounds = 9;
  testing::Target target;
  testing::SamplePolicy policy;  // with the number of threads settled

  std::string peer_path;  // empty: no peer
  std::string json_path;  // empty: no file
};

// Prints help or a complaint and ends the program where the command line asks for that.
BenchOptions ParseOptions(int argc, char** argv);

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_OPTIONS_H_
