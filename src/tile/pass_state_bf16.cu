// The second stage of the scan for bf16 operands in whole vectors: as pass_state.cu, rounding the
// weighted x and the states before chunks to bf16; the state itself is carried in fp32.
//
// x (batch, seqlen, nheads, headdim), B (batch, seqlen, ngroups, dstate), bf16; entry_states
// (num_slots, nheads, headdim, dstate) bf16; first_states, last_states, states_out compact fp32.
//
// A program a piece of a row, head, 64 channels and up to 128 states: row_pieces.h says how rows
// are cut. The pass before, PassPieces, walks pieces from zero for their states and decays alone,
// for this form and for scan_stream.cu. A program waits for each of its loads before it asks for
// the next (views.h), so it takes two chunks with each. Bound by that, then by reading x and B and
// by storing the states.
#include "cuda/launch.cuh"
#include "tile/chunk_terms.h"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

enum class Pass : int32_t { kPieces, kEntryStates, kStatesOut };

template <size_t kStates, typename View>
__tile__ void StoreEntry(Tile<float, kChannels, kStates> state, View view, StatePlace place) {
  view.store_masked(
      ct::reshape(ct::element_cast<__nv_bfloat16>(state), ct::shape<1, 1, kChannels, kStates>{}),
      place.row_idx, place.head_idx, place.channel_tile, place.state_tile);
}

constexpr size_t kPairTokens = kPairChunks * kChunkTile;

// kPieces: all pieces but the last of each row, from zero; last_states and exponents have
// num_pieces rows for each row, and what is of a piece goes to the next one's (states) and to its
// own (exponents). kEntryStates: first_states has a row for each piece. must_repair: set where a
// row's last state is not finite, which it is where any x was not. kStatesOut: that, and states_out
// is stored, whose tiles take room in shared memory.
template <Pass kPass, size_t kStates>
[[using cutile: hint(900, occupancy = kWalksPerMultiprocessor)]] __tile_global__ void PassStateBf16(
    const __nv_bfloat16* x, int32_t x_batch_stride, int32_t x_token_stride, int32_t x_head_stride,
    const __nv_bfloat16* B, int32_t B_batch_stride, int32_t B_token_stride, int32_t B_group_stride,
    const float* first_states, float* last_states, float* states_out, float* exponents,
    int32_t has_first, int32_t has_last, int32_t span_chunks, int32_t num_states_out,
    int32_t num_pieces, int32_t piece_chunks, const float* token_rows, __nv_bfloat16* entry_states,
    int32_t* must_repair, int32_t batch, int32_t seqlen, int32_t nheads, int32_t headdim,
    int32_t ngroups, int32_t dstate) {
  constexpr bool kIsForPieces = kPass == Pass::kPieces;
  const int32_t num_channel_tiles = CountTiles<kChannels>(headdim);
  const int32_t num_state_tiles = CountTiles<kStates>(dstate);
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t num_slots = batch * num_chunks;
  const int32_t program = ct::bid().x;
  const int32_t state_tile = program % num_state_tiles;
  const int32_t walk_idx = program / num_state_tiles;
  const int32_t channel_tile = walk_idx % num_channel_tiles;
  const int32_t head_idx = walk_idx / num_channel_tiles % nheads;
  const int32_t piece_idx = walk_idx / num_channel_tiles / nheads;
  const int32_t row_pieces = kIsForPieces ? num_pieces - 1 : num_pieces;
  const PieceOfRow piece = FindPiece(piece_idx / row_pieces, piece_idx % row_pieces, num_pieces,
                                     piece_chunks, num_chunks);
  const int32_t group_idx = head_idx / (nheads / ngroups);
  const int32_t first_slot = piece.row_idx * num_chunks;

  const auto x_pairs = ChunkView<kPairTokens, kChannels>(
      x, batch, seqlen, nheads, headdim, x_batch_stride, x_token_stride, x_head_stride);
  const auto B_pairs = ChunkView<kPairTokens, kStates>(
      B, batch, seqlen, ngroups, dstate, B_batch_stride, B_token_stride, B_group_stride);
  const auto rows_view = TokenRowsOfChunksView<kPairChunks>(token_rows, batch, num_chunks, nheads);
  [[maybe_unused]] const auto entry_view =
      MatrixView<kChannels, kStates>(entry_states, num_slots, nheads, headdim, dstate);
  [[maybe_unused]] const auto first_view =
      MatrixView<kChannels, kStates>(first_states, batch * num_pieces, nheads, headdim, dstate);
  [[maybe_unused]] const auto last_view = MatrixView<kChannels, kStates>(
      last_states, kIsForPieces ? batch * num_pieces : batch, nheads, headdim, dstate);
  [[maybe_unused]] const auto out_view = MatrixView<kChannels, kStates>(
      states_out, batch * (num_states_out > 0 ? num_states_out : 1), nheads, headdim, dstate);

  auto state = ct::zeros<Tile<float, kChannels, kStates>>();
  if constexpr (!kIsForPieces) {
    if (has_first != 0) {
      state = LoadState<kStates>(first_view,
                                 StatePlace{piece.piece_row, head_idx, channel_tile, state_tile});
    }
  }
  [[maybe_unused]] const StatePlace place{piece.row_idx, head_idx, channel_tile, state_tile};
  [[maybe_unused]] auto exponent = ct::zeros<Tile<float, 1, 1>>();
  [[maybe_unused]] StatesOutWalk walk = WalkFrom(piece.first_chunk, span_chunks);
  const int32_t end_pair = CountTiles<kPairChunks>(piece.end_chunk);
  for (int32_t pair = piece.first_chunk / kPairChunks; pair < end_pair; ++pair) {
    const auto x_pair =
        LoadMatrix<kPairTokens, kChannels>(x_pairs, piece.row_idx, pair, head_idx, channel_tile);
    const auto B_pair =
        LoadMatrix<kPairTokens, kStates>(B_pairs, piece.row_idx, pair, group_idx, state_tile);
    const auto rows = ct::reshape(LoadAhead(rows_view, piece.row_idx, pair, head_idx, 0, 0),
                                  ct::shape<kPairChunks * kTokenRows, kChunkTile>{});
    const int32_t slot = first_slot + pair * kPairChunks;
    const HeadChunk first = HeadChunkOf(ChunkOf<kPairChunks>(rows, 0));
    if constexpr (!kIsForPieces) {
      StoreEntry<kStates>(state, entry_view, StatePlace{slot, head_idx, channel_tile, state_tile});
    }
    state =
        AddChunk(state, ChunkOf<kPairChunks>(x_pair, 0), ChunkOf<kPairChunks>(B_pair, 0), first);
    if constexpr (kPass == Pass::kStatesOut) {
      walk = StoreIfAsked(state, out_view, place, span_chunks, num_states_out, walk);
    }
    if constexpr (kIsForPieces) exponent = exponent + first.last_exponent;
    // The last chunk of a row may stand alone.
    if (kIsForPieces || pair * kPairChunks + 1 < num_chunks) {
      const HeadChunk second = HeadChunkOf(ChunkOf<kPairChunks>(rows, 1));
      if constexpr (!kIsForPieces) {
        StoreEntry<kStates>(state, entry_view,
                            StatePlace{slot + 1, head_idx, channel_tile, state_tile});
      }
      state =
          AddChunk(state, ChunkOf<kPairChunks>(x_pair, 1), ChunkOf<kPairChunks>(B_pair, 1), second);
      if constexpr (kPass == Pass::kStatesOut) {
        walk = StoreIfAsked(state, out_view, place, span_chunks, num_states_out, walk);
      }
      if constexpr (kIsForPieces) exponent = exponent + second.last_exponent;
    }
  }
  if constexpr (kIsForPieces) {
    StoreState(state, last_view,
               StatePlace{piece.piece_row + 1, head_idx, channel_tile, state_tile});
    if (channel_tile == 0 && state_tile == 0) {
      exponents[piece.piece_row * nheads + head_idx] =
          static_cast<float>(ct::reshape(exponent, ct::shape<>{}));
    }
  } else if (piece.is_last) {
    if (has_last != 0) StoreState(state, last_view, place);
    if (state_tile == 0) {
      must_repair[(piece.row_idx * nheads + head_idx) * num_channel_tiles + channel_tile] =
          AllOf(IsFinite(state)) ? 0 : 1;
    }
  }
}

template <Pass kPass, size_t kStates>
Status Launch(const StageCall& call) {
  constexpr bool kIsForPieces = kPass == Pass::kPieces;
  const char* const name = kIsForPieces ? "PassPieces" : "PassStateBf16";
  const auto kernel = PassStateBf16<kPass, kStates>;
  if (call.only_loads) return cuda::LoadKernel(name, kernel);
  const ScanSizes& sizes = call.problem.sizes;
  const VectorRows x(call.problem.operands.x);
  const VectorRows B(call.problem.operands.B);
  const StatesGiven states(call.problem);
  const StageBuffers& buffers = call.buffers;
  const RowPieces& pieces = buffers.pieces;
  const FirstStates first(call);
  const int64_t num_programs =
      sizes.batch * (kIsForPieces ? pieces.num_pieces - 1 : pieces.num_pieces) * sizes.nheads *
      CeilDiv(sizes.headdim, kChannels) * CeilDiv(sizes.dstate, kStates);
  if (num_programs == 0 || call.num_slots == 0) return Status();
  kernel<<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, x.batch_stride, x.token_stride, x.head_stride, B.data, B.batch_stride, B.token_stride,
      B.head_stride, first.of_pieces, kIsForPieces ? buffers.piece_states : buffers.last_states,
      buffers.states_out, buffers.piece_exponents, first.has_any, states.has_last,
      states.span_chunks, states.num_states_out, pieces.num_pieces, pieces.piece_chunks,
      buffers.token_rows, static_cast<__nv_bfloat16*>(buffers.entry_states), buffers.must_repair,
      Int32(sizes.batch), Int32(sizes.seqlen), Int32(sizes.nheads), Int32(sizes.headdim),
      Int32(sizes.ngroups), Int32(sizes.dstate));
  return cuda::StatusOf(cudaGetLastError(), name);
}

template <Pass kPass>
Status LaunchPass(const StageCall& call) {
  return DispatchBf16(call.problem, [&]<size_t kStates, size_t kStateTiles>() {
    return Launch<kPass, kStates>(call);
  });
}

}  // namespace

Status LaunchPassPieces(const StageCall& call) { return LaunchPass<Pass::kPieces>(call); }

Status LaunchPassStateBf16(const StageCall& call) {
  // 64 states: with 128 registers would spill.
  constexpr auto launch_states_out = Launch<Pass::kStatesOut, 64>;
  // Which of the two a problem without operands gets is not known: both are loaded.
  if (call.only_loads) TILESCAN_RETURN_IF_ERROR(launch_states_out(call));
  return StatesGiven(call.problem).num_states_out > 0 ? launch_states_out(call)
                                                      : LaunchPass<Pass::kEntryStates>(call);
}

}  // namespace tilescan::tile
