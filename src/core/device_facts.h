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
  // Why its matrix unit cannot be used; empty: it can.
  std::string reason_against_amx = "nobody asked for the matrix unit";
};

// A GPU.
struct CudaFacts {
  std::string reason_against;      // why none can be used; empty: the rest holds
  std::string name;                // as the driver calls it
  int32_t compute_capability = 0;  // 10 * major + minor
  int32_t num_multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_cache_bytes = 0;
  int32_t driver_version = 0;   // the newest CUDA it runs: 1000 * major + 10 * minor
  int32_t runtime_version = 0;  // that the library was built with, likewise
};

struct DeviceFacts {
  CpuFacts cpu;
  // Of the calling thread's current GPU. A function, because asking wakes the driver: only those
  // ask that need the answer.
  const CudaFacts& (*cuda)() = nullptr;
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_DEVICE_FACTS_H_
