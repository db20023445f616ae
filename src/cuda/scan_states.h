// The states that a scan begins with and those that the caller asks for, between the operands, of
// any dtype and strides, and the compact fp32 states that kernels work on.
#ifndef TILESCAN_CUDA_SCAN_STATES_H_
#define TILESCAN_CUDA_SCAN_STATES_H_

#include <cuda_runtime_api.h>

#include "core/scan_forward.h"
#include "core/status.h"
#include "cuda/scan_chunks.h"

namespace tilescan::cuda {

// Copies an operand (.., nheads, headdim, dstate) of 4 or 5 dimensions to compact memory, and back.
Status PackStates(const TensorView& from, float* to, cudaStream_t stream);
Status UnpackStates(const float* from, const TensorView& to, cudaStream_t stream);

// Compact, (.., nheads, headdim, dstate).
struct SlotStates {
  float* of_slots = nullptr;  // before each chunk
  float* of_rows = nullptr;   // after each row that has a token
};

// Copies initial_states to the first slot of each row. Nothing without them.
Status LoadInitialStates(const ScanForwardProblem& problem, const ChunkTable& table,
                         const SlotStates& states, cudaStream_t stream);

// Writes final_states and states_out. The final state of a row without a token is its initial
// state, bit for bit where the dtype is the same.
Status StoreStates(const ScanForwardProblem& problem, int64_t num_slots, const ChunkTable& table,
                   const SlotStates& states, cudaStream_t stream);

// Writes final_states of a problem in which no row has a token.
Status PassEmptyRows(const ScanForwardProblem& problem, cudaStream_t stream);

// Loads the kernels of the functions above, so that a first run can be captured.
Status LoadStateKernels();

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_SCAN_STATES_H_
