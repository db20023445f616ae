// The gated RMSNorm of one group of channels of one token; one table per instruction set.
//
//   norm(y) = y / sqrt(mean of y^2 + eps) * weight + bias ;  norm(x silu(z)), or norm(x) silu(z)
//
// Sums are made from fp32 copies, so bits do not depend on how operands lie in memory.
#ifndef TILESCAN_CPU_KERNELS_NORM_GROUP_H_
#define TILESCAN_CPU_KERNELS_NORM_GROUP_H_

#include <cstdint>
#include <span>

#include "core/workspace.h"
#include "cpu/kernels/row.h"

namespace tilescan::cpu {

// Behind what a group uses, for whole vectors of any instruction set.
inline constexpr int64_t kNormPadding = 64;

// One thread's scratch.
struct NormBuffers {
  float* weight = nullptr;  // (dim + kNormPadding)
  float* bias = nullptr;    // (dim + kNormPadding)
  float* values = nullptr;  // (group_size + kNormPadding)
  float* gate = nullptr;    // (group_size + kNormPadding)

  static NormBuffers Take(Carver& carver, int64_t dim, int64_t group_size);
};

struct NormRule {
  int64_t group_size = 0;
  float eps = 0.0f;
  bool norm_before_gate = false;
};

struct NormGroupSteps {
  const char* instruction_set;
  int64_t hwy_target;  // the bit of hwy::SupportedTargets()
  bool is_baseline;    // runs on every machine
  int64_t num_lanes;   // of fp32

  void (*load_row)(const Rows& from, int64_t count, float* to);

  // The group whose channels begin at first_channel of weight and bias; x, z and out begin there.
  // z.data null: no gate.
  void (*norm_group)(const NormRule& rule, const NormBuffers& buffers, int64_t first_channel,
                     const Rows& x, const Rows& z, const Rows& out);
};

// One for each instruction set compiled in, weakest first.
std::span<const NormGroupSteps> AllNormGroupSteps();

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_KERNELS_NORM_GROUP_H_
