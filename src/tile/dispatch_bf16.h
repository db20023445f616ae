// What the forms for bf16 operands in whole vectors ask of a problem, and how its operands reach
// their kernels.
#ifndef TILESCAN_TILE_DISPATCH_BF16_H_
#define TILESCAN_TILE_DISPATCH_BF16_H_

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "plan/variant.h"
#include "tile/chunk_size.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {

// Sizes and strides that the form has checked.
inline int32_t Int32(int64_t value) { return static_cast<int32_t>(value); }

// An operand (batch, seqlen, heads or groups, channels or states). The stride of a dimension of one
// element may be anything; here it is a whole number of vectors, as of the others.
struct VectorRows {
  explicit VectorRows(const TensorView& view)
      : data(static_cast<__nv_bfloat16*>(view.data)),
        batch_stride(StrideOf(view, 0)),
        token_stride(StrideOf(view, 1)),
        head_stride(StrideOf(view, 2)) {}

  static int32_t StrideOf(const TensorView& view, int dim) {
    return Int32(view.shape[dim] <= 1 ? view.shape[3] : view.strides[dim]);
  }

  __nv_bfloat16* data;
  int32_t batch_stride, token_stride, head_stride;
};

// The states that a problem has. Where states_out asks for them: after every span_chunks chunks,
// num_states_out times a row. Where it asks for none, a row is one span.
struct StatesGiven {
  explicit StatesGiven(const ScanForwardProblem& problem)
      : has_first(problem.operands.initial_states.present() ? 1 : 0),
        has_last(problem.operands.final_states.present() ? 1 : 0) {
    constexpr int64_t tile_size = kChunkTile;
    const int64_t seqlen = problem.sizes.seqlen;
    const int64_t every = problem.operands.states_every;
    const bool has_states = problem.operands.states_out.present() && every <= seqlen;
    span_chunks = Int32((has_states ? every : seqlen + tile_size) / tile_size);
    num_states_out = has_states ? Int32(seqlen / every) : 0;
  }

  int32_t has_first, has_last;
  int32_t span_chunks, num_states_out;
};

// The states that walks begin with: before each piece of each row.
struct FirstStates {
  explicit FirstStates(const StageCall& call)
      : of_pieces(call.buffers.pieces.num_pieces > 1 ? call.buffers.piece_states
                                                     : call.buffers.first_states),
        has_any(call.buffers.pieces.num_pieces > 1 ? 1 : StatesGiven(call.problem).has_first) {}

  const float* of_pieces;
  int32_t has_any;
};

// Programs that stay on the GPU and take one piece of work after another.
inline int64_t StayingPrograms(int per_multiprocessor) {
  return int64_t{cuda::Facts().num_multiprocessors} * per_multiprocessor;
}

// Calls launch<kStates, kStateTiles>(): the states of a tile, and tiles of dstate.
template <typename Launch>
Status DispatchBf16(const ScanForwardProblem& problem, const Launch& launch) {
  constexpr int64_t kMostTile = kMostTileStates;
  if (problem.sizes.dstate <= 64) return launch.template operator()<64, 1>();
  if (problem.sizes.dstate <= kMostTile) return launch.template operator()<kMostTileStates, 1>();
  return launch.template operator()<kMostTileStates, 2>();
}

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_DISPATCH_BF16_H_
