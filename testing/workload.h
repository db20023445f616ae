// The problems that are timed: a model's shapes with inputs such as a model sees, and what a run of
// them takes.
#ifndef TILESCAN_TESTING_WORKLOAD_H_
#define TILESCAN_TESTING_WORKLOAD_H_

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "testing/operands.h"
#include "testing/presets.h"

namespace tilescan::testing {

struct WorkloadDTypes {
  DType operands = DType::kFloat32;  // x, B, C, out
  DType states = DType::kFloat32;    // initial_states, final_states, state
};

// x, B, C uniform in [-1, 1]; A uniform in [-16, -1]; softplus(dt) log-uniform in [0.001, 0.1], dt
// in fp32 (the ranges in which Mamba-2 initialises A and dt_bias); states uniform in [-0.1, 0.1].
// No D, no z, no dt_bias, so that the work is that of implementations which have none of them.
// Filled and compact; outputs are poison.
ScanOperands ScanWorkload(const ModelPreset& preset, int64_t batch, int64_t seqlen,
                          const WorkloadDTypes& dtypes);
// One step; a state for each batch row.
StateUpdateOperands StateUpdateWorkload(const ModelPreset& preset, int64_t batch,
                                        const WorkloadDTypes& dtypes);

// The names of these cases in result files: "mamba2-2.7b/2048", with a batch "mamba2-2.7b/4x2048";
// "mamba2-2.7b/decode-8/cold" when every state comes from memory, ".../hot" when it stays in a
// cache.
std::string ScanCaseName(const ModelPreset& preset, int64_t batch, int64_t seqlen);
std::string StateUpdateCaseName(const ModelPreset& preset, int64_t batch, bool is_cold);

// The recurrence's multiplications and additions: for each token and head, headdim * dstate fused
// multiply-adds to take the input into the state, and as many to read it out. The decay is not
// counted, so that the figure means the same for the recurrence and for the chunked form, which
// applies it once a chunk. An algorithm may do more.
double RecurrenceFlops(const ModelPreset& preset, int64_t num_tokens);

// Bytes of one layer's states for a batch. A decoding step reads and writes each of them once.
double StateBytes(const ModelPreset& preset, int64_t batch, DType states);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_WORKLOAD_H_
