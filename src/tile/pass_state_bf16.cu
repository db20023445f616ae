// The second stage of the scan for bf16 operands in whole vectors: as pass_state.cu, rounding the
// weighted x and the states before chunks to bf16; the state itself is carried in fp32.
//
// x (batch, seqlen, nheads, headdim), B (batch, seqlen, ngroups, dstate), bf16; entry_states
// (num_slots, nheads, headdim, dstate) bf16; first_states, last_states, states_out compact fp32.
//
// A program a row, head, 64 channels and 64 states. A row is serial, so programs take two chunks at
// a time: one would not cover the latency of its loads. Bound by that, and by storing the states.
#include "cuda/launch.cuh"
#include "tile/chunk_terms.h"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr size_t kStates = 64;
using State = Tile<float, kChannels, kStates>;
using InputChunk = Tile<__nv_bfloat16, kChunkTile, kChannels>;
using BChunk = Tile<__nv_bfloat16, kChunkTile, kStates>;
constexpr size_t kPairTokens = 2 * kChunkTile;

__tile__ State AddChunk(State state, InputChunk x, BChunk B, HeadChunk chunk) {
  return ct::mma(WeighInput(x, chunk), B, state * chunk.last_root * chunk.last_root);
}

template <typename View>
__tile__ void StoreEntry(State state, View view, StatePlace place) {
  view.store_masked(
      ct::reshape(ct::element_cast<__nv_bfloat16>(state), ct::shape<1, 1, kChannels, kStates>{}),
      place.row_idx, place.head_idx, place.channel_tile, place.state_tile);
}

// The tokens of one half of a pair of chunks.
template <size_t kColumns>
__tile__ Tile<__nv_bfloat16, kChunkTile, kColumns> Half(
    Tile<__nv_bfloat16, kPairTokens, kColumns> pair, int32_t half) {
  return ct::extract(pair, ct::shape<kChunkTile, kColumns>{}, half, 0);
}

// must_repair: set where the last state is not finite, which it is where any x was not.
[[using cutile: hint(900, occupancy = 2)]] __tile_global__ void PassStateBf16(
    const __nv_bfloat16* x, int32_t x_batch_stride, int32_t x_token_stride, int32_t x_head_stride,
    const __nv_bfloat16* B, int32_t B_batch_stride, int32_t B_token_stride, int32_t B_group_stride,
    const float* first_states, float* last_states, float* states_out, int32_t has_first,
    int32_t has_last, int32_t span_chunks, int32_t num_states_out, const float* token_rows,
    __nv_bfloat16* entry_states, int32_t* must_repair, int32_t batch, int32_t seqlen,
    int32_t nheads, int32_t headdim, int32_t ngroups, int32_t dstate) {
  const int32_t num_channel_tiles = CountTiles<kChannels>(headdim);
  const int32_t num_state_tiles = CountTiles<kStates>(dstate);
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t num_slots = batch * num_chunks;
  const int32_t program = ct::bid().x;
  const int32_t state_tile = program % num_state_tiles;
  const int32_t walk_idx = program / num_state_tiles;
  const int32_t channel_tile = walk_idx % num_channel_tiles;
  const int32_t head_idx = walk_idx / num_channel_tiles % nheads;
  const int32_t row_idx = walk_idx / num_channel_tiles / nheads;
  const int32_t group_idx = head_idx / (nheads / ngroups);
  const int32_t first_slot = row_idx * num_chunks;
  const StatePlace place{row_idx, head_idx, channel_tile, state_tile};

  const auto x_pairs = ChunkView<kPairTokens, kChannels>(
      x, batch, seqlen, nheads, headdim, x_batch_stride, x_token_stride, x_head_stride);
  const auto B_pairs = ChunkView<kPairTokens, kStates>(
      B, batch, seqlen, ngroups, dstate, B_batch_stride, B_token_stride, B_group_stride);
  const auto rows_view = TokenRowsView(token_rows, num_slots, nheads);
  const auto entry_view =
      MatrixView<kChannels, kStates>(entry_states, num_slots, nheads, headdim, dstate);
  const auto first_view =
      MatrixView<kChannels, kStates>(first_states, batch, nheads, headdim, dstate);
  const auto last_view =
      MatrixView<kChannels, kStates>(last_states, batch, nheads, headdim, dstate);
  const auto out_view = MatrixView<kChannels, kStates>(
      states_out, batch * (num_states_out > 0 ? num_states_out : 1), nheads, headdim, dstate);

  auto state = ct::zeros<State>();
  if (has_first != 0) state = LoadState<kStates>(first_view, place);
  StatesOutWalk walk{span_chunks, 0};
  const int32_t num_pairs = num_chunks / 2;
  for (int32_t pair = 0; pair < num_pairs; ++pair) {
    const int32_t slot = first_slot + 2 * pair;
    const auto x_pair =
        LoadMatrix<kPairTokens, kChannels>(x_pairs, row_idx, pair, head_idx, channel_tile);
    const auto B_pair =
        LoadMatrix<kPairTokens, kStates>(B_pairs, row_idx, pair, group_idx, state_tile);
    const HeadChunk first = LoadHeadChunk(rows_view, slot, head_idx);
    const HeadChunk second = LoadHeadChunk(rows_view, slot + 1, head_idx);
    StoreEntry(state, entry_view, StatePlace{slot, head_idx, channel_tile, state_tile});
    state = AddChunk(state, Half(x_pair, 0), Half(B_pair, 0), first);
    walk = StoreIfAsked(state, out_view, place, span_chunks, num_states_out, walk);
    StoreEntry(state, entry_view, StatePlace{slot + 1, head_idx, channel_tile, state_tile});
    state = AddChunk(state, Half(x_pair, 1), Half(B_pair, 1), second);
    walk = StoreIfAsked(state, out_view, place, span_chunks, num_states_out, walk);
  }
  if (num_chunks % 2 != 0) {
    const int32_t slot = first_slot + num_chunks - 1;
    const auto x_pair =
        LoadMatrix<kPairTokens, kChannels>(x_pairs, row_idx, num_pairs, head_idx, channel_tile);
    const auto B_pair =
        LoadMatrix<kPairTokens, kStates>(B_pairs, row_idx, num_pairs, group_idx, state_tile);
    StoreEntry(state, entry_view, StatePlace{slot, head_idx, channel_tile, state_tile});
    state =
        AddChunk(state, Half(x_pair, 0), Half(B_pair, 0), LoadHeadChunk(rows_view, slot, head_idx));
    walk = StoreIfAsked(state, out_view, place, span_chunks, num_states_out, walk);
  }
  if (has_last != 0) StoreState(state, last_view, place);
  if (state_tile == 0) must_repair[walk_idx] = AllOf(IsFinite(state)) ? 0 : 1;
}

}  // namespace

Status LaunchPassStateBf16(const StageCall& call) {
  if (call.only_loads) return cuda::LoadKernel("PassStateBf16", PassStateBf16);
  const ScanSizes& sizes = call.problem.sizes;
  const VectorRows x(call.problem.operands.x);
  const VectorRows B(call.problem.operands.B);
  const StatesGiven states(call.problem);
  const StageBuffers& buffers = call.buffers;
  const int64_t num_programs = sizes.batch * sizes.nheads * CeilDiv(sizes.headdim, kChannels) *
                               CeilDiv(sizes.dstate, kStates);
  if (num_programs == 0 || call.num_slots == 0) return Status();
  PassStateBf16<<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, x.batch_stride, x.token_stride, x.head_stride, B.data, B.batch_stride, B.token_stride,
      B.head_stride, buffers.first_states, buffers.last_states, buffers.states_out,
      states.has_first, states.has_last, states.span_chunks, states.num_states_out,
      buffers.token_rows, static_cast<__nv_bfloat16*>(buffers.entry_states), buffers.must_repair,
      Int32(sizes.batch), Int32(sizes.seqlen), Int32(sizes.nheads), Int32(sizes.headdim),
      Int32(sizes.ngroups), Int32(sizes.dstate));
  return cuda::StatusOf(cudaGetLastError(), "PassStateBf16");
}

}  // namespace tilescan::tile
