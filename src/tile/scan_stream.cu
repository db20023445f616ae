// The scan's forward in one walk along each row, or piece of one (row_pieces.h): pass_state and
// compute_out of a chunk at once (chunk_terms.h has the formulas), the state never leaving the
// program.
//
// x z out (batch, seqlen, nheads, headdim), B C (batch, seqlen, ngroups, dstate), bf16 in whole
// vectors; CB as multiply_cb.cu; states compact fp32; skip_rows (nheads, headdim) fp32.
//
// A NaN or infinity in x spoils earlier tokens of its chunk, as 0 * x in their products. It stays
// in the state to the end of the row. A walk whose last state is not finite is marked, and a second
// launch walks it again, with care and without haste; the stages for bf16 operands use it as well.
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
           int32_t num_pieces, int32_t piece_chunks, const float* token_rows,
           const __nv_bfloat16* CB, int32_t* must_repair, int32_t batch, int32_t seqlen,
           int32_t nheads, int32_t headdim, int32_t ngroups, int32_t dstate) {
  constexpr int32_t side = kChunkTile;
  const int32_t program = ct::bid().x;
  const int32_t num_channel_tiles = CountTiles<kChannels>(headdim);
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t num_slots = batch * num_chunks;
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

  const auto x_view = ChunkView<kChunkTile, kChannels>(
      x, batch, seqlen, nheads, headdim, x_batch_stride, x_token_stride, x_head_stride);
  const auto B_view = ChunkView<kChunkTile, kStates>(
      B, batch, seqlen, ngroups, dstate, B_batch_stride, B_token_stride, B_group_stride);
  const auto C_view = ChunkView<kChunkTile, kStates>(
      C, batch, seqlen, ngroups, dstate, C_batch_stride, C_token_stride, C_group_stride);
  const auto z_view = ChunkView<kChunkTile, kChannels>(
      z, batch, seqlen, nheads, headdim, z_batch_stride, z_token_stride, z_head_stride);
  const auto out_view = ChunkView<kChunkTile, kChannels>(
      out, batch, seqlen, nheads, headdim, out_batch_stride, out_token_stride, out_head_stride);
  const auto CB_view = MatrixView<kChunkTile, kChunkTile>(CB, num_slots, ngroups, side, side);
  const auto rows_view = TokenRowsView(token_rows, num_slots, nheads);
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
  for (int32_t chunk_idx = piece.first_chunk; chunk_idx < piece.end_chunk; ++chunk_idx) {
    const int32_t slot = row_idx * num_chunks + chunk_idx;
    const auto x_chunk =
        LoadMatrix<kChunkTile, kChannels>(x_view, row_idx, chunk_idx, head_idx, channel_tile);
    const auto B_chunk = LoadMatrix<kChunkTile, kStates>(B_view, row_idx, chunk_idx, group_idx, 0);
    const auto C_chunk = LoadMatrix<kChunkTile, kStates>(C_view, row_idx, chunk_idx, group_idx, 0);
    const auto CB_chunk = LoadMatrix<kChunkTile, kChunkTile>(CB_view, slot, group_idx, 0, 0);
    const HeadChunk chunk = LoadHeadChunk(rows_view, slot, head_idx);

    auto y = ct::mma(ct::element_cast<__nv_bfloat16>(state), ct::transpose(C_chunk),
                     ct::zeros<ChannelsByTokens>());
    y = y * chunk.decay_roots * chunk.decay_roots;
    const auto x_transposed = ct::transpose(x_chunk);
    if constexpr (kRepairs) {
      y = AddWithCare(x_chunk, WeighTransposed(CB_chunk, chunk), y);
    } else {
      y = ct::mma(x_transposed, WeighTransposed(CB_chunk, chunk), y);
    }
    y = y + D * ct::element_cast<float>(x_transposed);
    if (kHasZ && (!kRepairs || has_z != 0)) {
      const auto z_chunk =
          LoadMatrix<kChunkTile, kChannels>(z_view, row_idx, chunk_idx, head_idx, channel_tile);
      y = y * Silu(ct::element_cast<float>(ct::transpose(z_chunk)));
    }
    state = ct::mma(WeighInput(x_chunk, chunk), B_chunk, state * chunk.last_root * chunk.last_root);
    StoreOut(y, out_view, row_idx, chunk_idx, head_idx, channel_tile);
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
      static_cast<const __nv_bfloat16*>(buffers.CB), buffers.must_repair, Int32(sizes.batch),
      Int32(sizes.seqlen), Int32(sizes.nheads), Int32(sizes.headdim), Int32(sizes.ngroups),
      Int32(sizes.dstate));
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
