// The scan's forward in one walk along each row, or piece of one (row_pieces.h): pass_state and
// compute_out of a chunk at once (chunk_terms.h has the formulas), the state never leaving the
// program.
//
// x z out (batch, seqlen, nheads, headdim), B C (batch, seqlen, ngroups, dstate), bf16 in whole
// vectors; states compact fp32; skip_rows (nheads, headdim) fp32.
//
// A NaN or infinity in x spoils earlier tokens of its chunk, as 0 * x in their products. It stays
// in the state to the end of the row. A row whose last state is not finite is marked, and a second
// launch walks all of it again, with care and without haste; the stages for bf16 operands use it as
// well.
//
// A program a piece of a row, head and 64 channels; all states in one tile. Bound by latency: a
// piece is serial, and two programs share a multiprocessor.
#include "cuda/launch.cuh"
#include "tile/chunk_terms.h"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

using InputChunk = Tile<__nv_bfloat16, kChunkTile, kChannels>;

// x^T M^T, right where x is not finite.
__tile__ ChannelsByTokens AddWithCare(InputChunk x, Tile<__nv_bfloat16, kChunkTile, kChunkTile> M,
                                      ChannelsByTokens y) {
  const auto is_finite = IsFinite(ct::element_cast<float>(x));
  const auto finite_x = ct::select(is_finite, x, ct::zeros<InputChunk>());
  y = ct::mma(ct::transpose(finite_x), M, y);
  const auto is_seen = RowIndices<kChunkTile>() >= ColumnIndices<kChunkTile>();
  return ct::transpose(SpreadNan(ct::transpose(y), is_seen, is_finite));
}

template <size_t kStates>
struct ChunkInputs {
  InputChunk x;
  Tile<__nv_bfloat16, kChunkTile, kStates> B, C;
  InputChunk z;
  HeadChunk head;
};

// out of a chunk, with C B^T made here: a load of it would cost more.
template <bool kRepairs, size_t kStates>
__tile__ ChannelsByTokens OutOf(Tile<float, kChannels, kStates> state, ChunkInputs<kStates> in,
                                Tile<float, kChannels, 1> D, bool has_z) {
  const auto C_transposed = ct::transpose(in.C);
  auto y =
      ct::mma(ct::element_cast<__nv_bfloat16>(state), C_transposed, ct::zeros<ChannelsByTokens>());
  y = y * in.head.decay_roots * in.head.decay_roots;
  const auto M = WeighTransposed(ct::mma(in.B, C_transposed, ct::zeros<TokenPairs>()), in.head);
  const auto x_transposed = ct::transpose(in.x);
  if constexpr (kRepairs) {
    y = AddWithCare(in.x, M, y);
  } else {
    y = ct::mma(x_transposed, M, y);
  }
  y = y + D * ct::element_cast<float>(x_transposed);
  if (has_z) y = y * Silu(ct::element_cast<float>(ct::transpose(in.z)));
  return y;
}

// z is some operand where has_z is 0. first_states has a row for each piece. must_repair, an
// element a walk of a whole row: written by the first launch, read by the second, kRepairs, which
// writes no states.
template <bool kHasZ, bool kRepairs, size_t kStates>
[[using cutile: hint(900, occupancy = kRepairs ? 1 : kWalksPerMultiprocessor)]] __tile_global__ void
ScanStream(const __nv_bfloat16* x, int32_t x_batch_stride, int32_t x_token_stride,
           int32_t x_head_stride, const __nv_bfloat16* B, int32_t B_batch_stride,
           int32_t B_token_stride, int32_t B_group_stride, const __nv_bfloat16* C,
           int32_t C_batch_stride, int32_t C_token_stride, int32_t C_group_stride,
           const float* skip_rows, const __nv_bfloat16* z, int32_t z_batch_stride,
           int32_t z_token_stride, int32_t z_head_stride, int32_t has_z, __nv_bfloat16* out,
           int32_t out_batch_stride, int32_t out_token_stride, int32_t out_head_stride,
           const float* first_states, float* last_states, int32_t has_first, int32_t has_last,
           int32_t num_pieces, int32_t piece_chunks, const float* token_rows, int32_t* must_repair,
           int32_t batch, int32_t seqlen, int32_t nheads, int32_t headdim, int32_t ngroups,
           int32_t dstate) {
  // Two where shared memory has room for their inputs.
  constexpr size_t kChunks = kRepairs || (kHasZ && kStates > 64) ? 1 : kPairChunks;
  constexpr size_t kTokens = kChunks * kChunkTile;
  const int32_t program = ct::bid().x;
  const int32_t num_channel_tiles = CountTiles<kChannels>(headdim);
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t channel_tile = program % num_channel_tiles;
  const int32_t head_idx = program / num_channel_tiles % nheads;
  const int32_t piece_idx = program / num_channel_tiles / nheads;
  const PieceOfRow piece = FindPiece(piece_idx / num_pieces, piece_idx % num_pieces, num_pieces,
                                     piece_chunks, num_chunks);
  const int32_t row_idx = piece.row_idx;
  const int32_t group_idx = head_idx / (nheads / ngroups);
  const int32_t walk_idx = (row_idx * nheads + head_idx) * num_channel_tiles + channel_tile;
  if constexpr (kRepairs) {
    if (must_repair[walk_idx] == 0) return;
  }

  const auto x_view = ChunkView<kTokens, kChannels>(x, batch, seqlen, nheads, headdim,
                                                    x_batch_stride, x_token_stride, x_head_stride);
  const auto B_view = ChunkView<kTokens, kStates>(B, batch, seqlen, ngroups, dstate, B_batch_stride,
                                                  B_token_stride, B_group_stride);
  const auto C_view = ChunkView<kTokens, kStates>(C, batch, seqlen, ngroups, dstate, C_batch_stride,
                                                  C_token_stride, C_group_stride);
  const auto z_view = ChunkView<kTokens, kChannels>(z, batch, seqlen, nheads, headdim,
                                                    z_batch_stride, z_token_stride, z_head_stride);
  const auto out_view = ChunkView<kChunkTile, kChannels>(
      out, batch, seqlen, nheads, headdim, out_batch_stride, out_token_stride, out_head_stride);
  const auto rows_view = TokenRowsOfChunksView<kChunks>(token_rows, batch, num_chunks, nheads);
  const auto first_view =
      MatrixView<kChannels, kStates>(first_states, batch * num_pieces, nheads, headdim, dstate);
  const auto last_view =
      MatrixView<kChannels, kStates>(last_states, batch, nheads, headdim, dstate);
  const auto D = ct::reshape(
      RowsView<kChannels>(skip_rows, nheads, headdim).load_masked(head_idx, channel_tile),
      ct::shape<kChannels, 1>{});

  auto state = ct::zeros<Tile<float, kChannels, kStates>>();
  if (has_first != 0) {
    state = LoadState<kStates>(first_view, StatePlace{piece.piece_row, head_idx, channel_tile, 0});
  }
  constexpr int32_t step = kChunks;
  const int32_t end_step = CountTiles<step>(piece.end_chunk);
  for (int32_t step_idx = piece.first_chunk / step; step_idx < end_step; ++step_idx) {
    const auto x_step =
        LoadMatrix<kTokens, kChannels>(x_view, row_idx, step_idx, head_idx, channel_tile);
    const auto B_step = LoadMatrix<kTokens, kStates>(B_view, row_idx, step_idx, group_idx, 0);
    const auto C_step = LoadMatrix<kTokens, kStates>(C_view, row_idx, step_idx, group_idx, 0);
    const auto rows = ct::reshape(LoadAhead(rows_view, row_idx, step_idx, head_idx, 0, 0),
                                  ct::shape<kChunks * kTokenRows, kChunkTile>{});
    auto z_step = ct::zeros<Tile<__nv_bfloat16, kTokens, kChannels>>();
    if (kHasZ && (!kRepairs || has_z != 0)) {
      z_step = LoadMatrix<kTokens, kChannels>(z_view, row_idx, step_idx, head_idx, channel_tile);
    }
    const ChunkInputs<kStates> first{ChunkOf<kChunks>(x_step, 0), ChunkOf<kChunks>(B_step, 0),
                                     ChunkOf<kChunks>(C_step, 0), ChunkOf<kChunks>(z_step, 0),
                                     HeadChunkOf(ChunkOf<kChunks>(rows, 0))};
    StoreOut(OutOf<kRepairs>(state, first, D, kHasZ && (!kRepairs || has_z != 0)), out_view,
             row_idx, step_idx * step, head_idx, channel_tile);
    state = AddChunk(state, first.x, first.B, first.head);
    if constexpr (kChunks == 2) {
      // Behind a row's last chunk all is 0, which changes no state.
      const ChunkInputs<kStates> second{ChunkOf<kChunks>(x_step, 1), ChunkOf<kChunks>(B_step, 1),
                                        ChunkOf<kChunks>(C_step, 1), ChunkOf<kChunks>(z_step, 1),
                                        HeadChunkOf(ChunkOf<kChunks>(rows, 1))};
      const auto y = OutOf<kRepairs>(state, second, D, kHasZ);
      if (step_idx * step + 1 < num_chunks) {
        StoreOut(y, out_view, row_idx, step_idx * step + 1, head_idx, channel_tile);
      }
      state = AddChunk(state, second.x, second.B, second.head);
    }
  }
  if constexpr (!kRepairs) {
    if (piece.is_last) {
      if (has_last != 0) {
        StoreState(state, last_view, StatePlace{row_idx, head_idx, channel_tile, 0});
      }
      must_repair[walk_idx] = AllOf(IsFinite(state)) ? 0 : 1;
    }
  }
}

template <bool kHasZ, bool kRepairs, size_t kStates>
Status Launch(const StageCall& call) {
  const auto kernel = ScanStream<kHasZ, kRepairs, kStates>;
  if (call.only_loads) return cuda::LoadKernel("ScanStream", kernel);
  const ScanForwardOperands& operands = call.problem.operands;
  const ScanSizes& sizes = call.problem.sizes;
  const VectorRows x(operands.x);
  const VectorRows B(operands.B);
  const VectorRows C(operands.C);
  const VectorRows z(operands.z.present() ? operands.z : operands.x);
  const VectorRows out(operands.out);
  const StatesGiven states(call.problem);
  const FirstStates first(call);
  const StageBuffers& buffers = call.buffers;
  const RowPieces& pieces = buffers.pieces;
  const int64_t num_programs =
      sizes.batch * pieces.num_pieces * sizes.nheads * CeilDiv(sizes.headdim, kChannels);
  if (num_programs == 0 || call.num_slots == 0) return Status();
  kernel<<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, x.batch_stride, x.token_stride, x.head_stride, B.data, B.batch_stride, B.token_stride,
      B.head_stride, C.data, C.batch_stride, C.token_stride, C.head_stride, buffers.skip_rows,
      z.data, z.batch_stride, z.token_stride, z.head_stride, operands.z.present() ? 1 : 0, out.data,
      out.batch_stride, out.token_stride, out.head_stride, first.of_pieces, buffers.last_states,
      first.has_any, states.has_last, pieces.num_pieces, pieces.piece_chunks, buffers.token_rows,
      buffers.must_repair, Int32(sizes.batch), Int32(sizes.seqlen), Int32(sizes.nheads),
      Int32(sizes.headdim), Int32(sizes.ngroups), Int32(sizes.dstate));
  return cuda::StatusOf(cudaGetLastError(), "ScanStream");
}

}  // namespace

Status LaunchScanStream(const StageCall& call) {
  const bool has_z = call.problem.operands.z.present();
  if (call.problem.sizes.dstate <= 64) {
    return has_z ? Launch<true, false, 64>(call) : Launch<false, false, 64>(call);
  }
  return has_z ? Launch<true, false, 128>(call) : Launch<false, false, 128>(call);
}

Status LaunchRepair(const StageCall& call) {
  return call.problem.sizes.dstate <= 128 ? Launch<true, true, 128>(call)
                                          : Launch<true, true, 256>(call);
}

}  // namespace tilescan::tile
