// The state before each piece of a row that is cut (row_pieces.h), from the pieces' own states and
// decays, in the order of the row:
//
//   H = first_states or 0;  for each piece:  H is the state before it,  H = 2^exponent H + own
//   state
//
// first_states (batch, nheads, headdim, dstate), piece_states (batch, num_pieces, nheads, headdim,
// dstate) with the own state of a piece in the place of the next one's, exponents (batch,
// num_pieces, nheads); fp32, compact, the states of a head a multiple of 64.
//
// A thread four neighbours of the state. Bound by reading and writing the states.
#include "cuda/launch.cuh"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int kThreads = 128;
constexpr int kVector = 4;
// Own states that a thread asks for before it joins them.
constexpr int kAhead = 4;

// The decay, as its root, is multiplied with twice, as along a walk. What is 0 stays 0 where the
// decay overflows: a state that grows from nothing.
__device__ __forceinline__ float JoinPart(float before, float root, float part) {
  return before == 0.0f ? part : fmaf(before * root, root, part);
}

__device__ __forceinline__ float4 JoinParts(float4 before, float root, float4 part) {
  return make_float4(JoinPart(before.x, root, part.x), JoinPart(before.y, root, part.y),
                     JoinPart(before.z, root, part.z), JoinPart(before.w, root, part.w));
}

__global__ void __launch_bounds__(kThreads)
    JoinPieces(const float* first_states, int32_t has_first, const float* exponents,
               float* piece_states, int32_t num_pieces, int32_t nheads, int64_t head_vectors,
               int64_t num_vectors) {
  const int64_t idx = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (idx >= num_vectors) return;
  const int64_t row_vectors = nheads * head_vectors;
  const int64_t row_idx = idx / row_vectors;
  const int64_t head_idx = idx % row_vectors / head_vectors;
  float4* const states = reinterpret_cast<float4*>(piece_states) +
                         row_idx * num_pieces * row_vectors + idx % row_vectors;
  const float* const row_exponents = exponents + row_idx * num_pieces * nheads + head_idx;

  float4 state = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (has_first != 0) state = reinterpret_cast<const float4*>(first_states)[idx];
  states[0] = state;
  for (int32_t first = 1; first < num_pieces; first += kAhead) {
    float4 parts[kAhead];
    float roots[kAhead];
#pragma unroll
    for (int32_t k = 0; k < kAhead; ++k) {
      if (first + k >= num_pieces) continue;
      parts[k] = states[(first + k) * row_vectors];
      roots[k] = exp2f(0.5f * row_exponents[(first + k - 1) * int64_t{nheads}]);
    }
#pragma unroll
    for (int32_t k = 0; k < kAhead; ++k) {
      if (first + k >= num_pieces) continue;
      state = JoinParts(state, roots[k], parts[k]);
      states[(first + k) * row_vectors] = state;
    }
  }
}

}  // namespace

Status LaunchJoinPieces(const StageCall& call) {
  if (call.only_loads) return cuda::LoadKernel("JoinPieces", JoinPieces);
  const ScanSizes& sizes = call.problem.sizes;
  const StageBuffers& buffers = call.buffers;
  if (buffers.pieces.num_pieces <= 1) return Status();
  const int64_t head_vectors = sizes.headdim * sizes.dstate / kVector;
  const int64_t num_vectors = sizes.batch * sizes.nheads * head_vectors;
  const cuda::LaunchShape shape{.grid = dim3(GridOf(CeilDiv(num_vectors, kThreads))),
                                .num_threads = kThreads,
                                .stream = call.stream};
  return cuda::LaunchKernel("JoinPieces", JoinPieces, shape, buffers.first_states,
                            StatesGiven(call.problem).has_first, buffers.piece_exponents,
                            buffers.piece_states, buffers.pieces.num_pieces, Int32(sizes.nheads),
                            head_vectors, num_vectors);
}

}  // namespace tilescan::tile
