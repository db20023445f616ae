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
#include "cuda/join_parts.cuh"
#include "cuda/launch.cuh"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int kThreads = 128;
constexpr int kVector = 4;

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

  float4 state = {};
  if (has_first != 0) state = reinterpret_cast<const float4*>(first_states)[idx];
  states[0] = state;
  float4* const own_states = states + row_vectors;
  cuda::JoinParts(
      own_states, row_vectors, num_pieces - 1, state,
      [&](int32_t piece_idx) { return exp2f(0.5f * row_exponents[piece_idx * int64_t{nheads}]); },
      [&](int32_t piece_idx, const float4& behind) {
        own_states[piece_idx * row_vectors] = behind;
      });
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
