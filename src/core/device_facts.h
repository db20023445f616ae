// What the planner knows of the machine. Every hardware number lives here; none in a kernel.
#ifndef TILESCAN_CORE_DEVICE_FACTS_H_
#define TILESCAN_CORE_DEVICE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tilescan {

struct InstructionSet {
  std::string name;        // "scalar", "avx2", "avx512", ...
  bool available = false;  // this machine can run it
};

struct CpuFacts {
  std::string name;             // as the processor calls itself
  int32_t num_threads = 1;      // that the process may use
  int64_t l1d_cache_bytes = 0;  // per core; 0: unknown
  int64_t l2_cache_bytes = 0;
  int64_t l3_cache_bytes = 0;
  std::vector<InstructionSet> instruction_sets;  // those compiled in, weakest first
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_DEVICE_FACTS_H_
