// The stages of the scan's forward: what they pass to each other, and the functions that launch
// them. Each enqueues one kernel, or none where there is nothing to do, and returns its Status.
#ifndef TILESCAN_TILE_SCAN_STAGES_H_
#define TILESCAN_TILE_SCAN_STAGES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "cuda/error.h"
#include "cuda/scan_chunks.h"
#include "tile/chunk_size.h"

namespace tilescan::tile {

// Device memory that the stages share; null: not used by this problem.
struct StageBuffers {
  cuda::ChunkTable chunks;
  cuda::RunCodes runs;  // with seq_idx
  // What chunk_cumsum makes, (num_slots, nheads, kChunkTile), and (num_slots, nheads).
  float* steps = nullptr;
  float* a_high = nullptr;
  float* a_low = nullptr;
  float* state_weights = nullptr;
  float* chunk_decay = nullptr;
  // Compact fp32 states: before each chunk (num_slots, nheads, headdim, dstate), with
  // initial_states already in the slots that begin a row; after each row (num_seqs, nheads,
  // headdim, dstate).
  float* entry_states = nullptr;
  float* last_states = nullptr;
};

struct StageCall {
  const ScanForwardProblem& problem;
  int64_t num_slots = 0;
  StageBuffers buffers = {};
  cudaStream_t stream = nullptr;
  bool only_loads = false;  // the kernel is loaded, so that its first run can be captured
};

Status LaunchChunkCumsum(const StageCall& call);
Status LaunchPassState(const StageCall& call);
Status LaunchComputeOut(const StageCall& call);

// ---- for the launchers ----

constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// A problem of more programs than a grid has room for is refused.
inline unsigned GridOf(int64_t num_programs) { return static_cast<unsigned>(num_programs); }

template <typename Kernel>
Status LoadKernel(Kernel* kernel, const char* name) {
  cudaFuncAttributes attributes;
  return cuda::StatusOf(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
                        name);
}

inline int32_t DTypeCode(const TensorView& view) { return static_cast<int32_t>(view.dtype); }

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_STAGES_H_
