// What a scan costs with each kernel of the CPU: the planner takes the cheapest that can.
#ifndef TILESCAN_CPU_SCAN_COSTS_H_
#define TILESCAN_CPU_SCAN_COSTS_H_

#include <cstring>

namespace tilescan::cpu {

// Nanoseconds per token and head of 64 x 128 on one core, as orders of kernels on one machine: no
// two rows of different machines are ever compared. Sources: docs/performance.md; scalar and NEON
// are estimates from the width of their vectors.
struct ScanCost {
  const char* kernel;
  const char* instruction_set;
  double nanoseconds;
};

inline constexpr ScanCost kScanCosts[] = {
    // 130 on Emerald Rapids, but taken by name only for now: what it would be weighed by (tokens,
    // rows, threads) must not choose the bits, and a B that is not finite reaches states that are
    // asked for before its token within a chunk.
    {"chunked_amx", "avx512", 1e4},
    {"chunked_fma", "avx512", 300},  // Emerald Rapids
    {"chunked_fma", "avx2", 430},    // Zen 3
    {"chunked_fma", "neon", 900},
    {"chunked_fma", "scalar", 3500},
    {"chunked_amx_emulated", "avx512", 5e4},  // there to test the kernel without the unit
    {"chunked_amx_emulated", "avx2", 1e5},
    {"chunked_amx_emulated", "neon", 2e5},
};

inline double CostOfScan(const char* kernel, const char* instruction_set) {
  for (const ScanCost& row : kScanCosts) {
    if (std::strcmp(row.kernel, kernel) == 0 &&
        std::strcmp(row.instruction_set, instruction_set) == 0) {
      return row.nanoseconds;
    }
  }
  return 1e9;
}

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_COSTS_H_
