// The loops that ceilings are measured with, once for each instruction set.
#ifndef TILESCAN_TESTING_CEILING_PASSES_H_
#define TILESCAN_TESTING_CEILING_PASSES_H_

#include <cstdint>
#include <span>

namespace tilescan::testing {

struct CeilingPasses {
  const char* instruction_set;  // as the library calls it
  int64_t hwy_target;           // Highway's bit for it
  bool is_baseline;             // every machine this is compiled for has it

  double flops_a_round;
  // seed: 0, in a way that the compiler does not know. Returns what would else be left out.
  float (*multiply_add)(int64_t num_rounds, float seed);

  // count: a multiple of kPassGranule. Pointers on 64-byte boundaries.
  void (*copy)(const float* from, int64_t count, float* to);
  void (*in_place)(float* data, int64_t count);
};

inline constexpr int64_t kPassGranule = 64;

// Those compiled in, weakest first; the machine may lack the last of them.
std::span<const CeilingPasses> AllCeilingPasses();

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CEILING_PASSES_H_
