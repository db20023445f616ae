// The second stage of the scan: the state before each chunk, and the states that the caller asks
// for.
//
//   H = initial_states or 0;  for each chunk of the row, a_last being its last token's a:
//     entry_states = H
//     H = 2^a_last H + sum over j of (2^(a_last - a_j) dt_j x_j) (outer) B_j
//     states_out = H where the chunk ends a span;  final_states = H after the last chunk
//
// x (batch, seqlen, nheads, headdim), B (batch, seqlen, ngroups, dstate), states (.., nheads,
// headdim, dstate). With seq_idx the sum is over the tokens of the run of the chunk's last token,
// and H counts as 0 if that run began inside the chunk.
//
// A program a row, head and tile of the state, which it keeps in fp32 while it walks the chunks in
// turn. Bound by reading x and B once for each tile and by writing entry_states; serial along the
// row.
#include "cuda/launch.cuh"
#include "tile/chunk_tiles.h"
#include "tile/dispatch_general.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

// Compute: the type of the products' operands. With fewer warps a thread would have more than its
// registers hold.
template <typename Compute, size_t kSide>
[[using cutile: hint(0, num_worker_warps_per_cta = 8)]] __tile_global__ void PassState(
    const void* x, int32_t x_dtype, int64_t x_batch_stride, int64_t x_token_stride,
    int64_t x_head_stride, int64_t x_channel_stride, const void* B, int32_t B_dtype,
    int64_t B_batch_stride, int64_t B_token_stride, int64_t B_group_stride, int64_t B_state_stride,
    const int64_t* first_token, const int64_t* batch_idx, const int32_t* num_tokens,
    const int32_t* run_before, const int32_t* run_after, const int64_t* first_slot,
    const int64_t* num_chunks, const int32_t* run_codes, const float* token_rows,
    const float* chunk_decay, float* entry_states, float* last_states, int32_t has_initial_states,
    int64_t seqlen, int64_t nheads, int64_t headdim, int64_t ngroups, int64_t dstate) {
  using State = Tile<float, kSide, kSide>;
  using Index = OffsetIn<kSide>;
  constexpr int64_t side = kSide;
  const int64_t num_channel_tiles = (headdim + side - 1) / side;
  const int64_t num_state_tiles = (dstate + side - 1) / side;
  const int64_t tile_idx = ct::bid().x % (num_channel_tiles * num_state_tiles);
  const int64_t row_head = ct::bid().x / (num_channel_tiles * num_state_tiles);
  const int64_t head_idx = row_head % nheads;
  const int64_t row_idx = row_head / nheads;
  const int64_t group_idx = head_idx / (nheads / ngroups);
  const int64_t begin = first_slot[row_idx];
  const int64_t end = begin + num_chunks[row_idx];
  if (begin == end) return;

  const int64_t first_channel = tile_idx / num_state_tiles * side;
  const int64_t first_state = tile_idx % num_state_tiles * side;
  const int32_t num_channels = CountFrom<kSide>(first_channel, headdim);
  const auto is_channel = ColumnIndices<kSide>() < num_channels;
  const auto is_state = ColumnIndices<kSide>() < CountFrom<kSide>(first_state, dstate);
  const auto is_stored = RowIndices<kSide>() < num_channels && is_state;
  const auto offsets =
      RowIndices<kSide, Index>() * static_cast<Index>(dstate) + ColumnIndices<kSide, Index>();
  const int64_t tile_offset = first_channel * dstate + first_state;

  auto state = ct::zeros<State>();
  if (has_initial_states != 0) {
    const int64_t first = (begin * nheads + head_idx) * headdim * dstate + tile_offset;
    state = ct::load_masked(entry_states + first + offsets, is_stored, 0.0f);
  }
  for (int64_t slot = begin; slot < end; ++slot) {
    const int64_t head_slot = slot * nheads + head_idx;
    ct::store_masked(entry_states + head_slot * headdim * dstate + tile_offset + offsets, state,
                     is_stored);
    const ChunkPlace chunk = FindChunk(first_token, batch_idx, num_tokens, slot, seqlen);
    const TokenRuns runs = LoadRuns(run_codes, slot, chunk);
    const auto is_kept = runs.is_used && runs.run == run_after[slot];
    const Matrix x_matrix{x, x_dtype,
                          chunk.batch_idx * x_batch_stride + chunk.first_token * x_token_stride +
                              head_idx * x_head_stride + first_channel * x_channel_stride,
                          x_token_stride, x_channel_stride};
    const Matrix B_matrix{B, B_dtype,
                          chunk.batch_idx * B_batch_stride + chunk.first_token * B_token_stride +
                              group_idx * B_group_stride + first_state * B_state_stride,
                          B_token_stride, B_state_stride};
    const auto x_chunk = LoadFloats<Index>(x_matrix, is_kept && is_channel);
    const auto B_chunk = LoadFloats<Index>(B_matrix, is_kept && is_state);
    // A new run begins from zero, whatever the state was.
    state = ct::select(run_before[slot] == run_after[slot], state * chunk_decay[head_slot],
                       ct::zeros<State>());
    state = MultiplyAdd<Compute>(
        ct::transpose(x_chunk * LoadTokenRow(token_rows, head_slot, kWeight)), B_chunk, state);
  }
  if (last_states != nullptr) {
    ct::store_masked(last_states + row_head * headdim * dstate + tile_offset + offsets, state,
                     is_stored);
  }
}

template <typename Compute, size_t kSide>
Status LaunchGeneral(const StageCall& call) {
  if (call.only_loads) return cuda::LoadKernel("PassState", PassState<Compute, kSide>);
  const ScanSizes& sizes = call.problem.sizes;
  const TensorView& x = call.problem.operands.x;
  const TensorView& B = call.problem.operands.B;
  const StageBuffers& buffers = call.buffers;
  const int64_t num_programs =
      sizes.num_seqs * sizes.nheads * CeilDiv(sizes.headdim, kSide) * CeilDiv(sizes.dstate, kSide);
  if (num_programs == 0 || call.num_slots == 0) return Status();
  PassState<Compute, kSide><<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, DTypeCode(x), x.strides[0], x.strides[1], x.strides[2], x.strides[3], B.data,
      DTypeCode(B), B.strides[0], B.strides[1], B.strides[2], B.strides[3],
      buffers.chunks.first_token, buffers.chunks.batch_idx, buffers.chunks.num_tokens,
      buffers.chunks.run_before, buffers.chunks.run_after, buffers.chunks.first_slot,
      buffers.chunks.num_chunks, buffers.runs.of_slots, buffers.token_rows, buffers.chunk_decay,
      static_cast<float*>(buffers.entry_states), buffers.last_states,
      call.problem.operands.initial_states.present() ? 1 : 0, sizes.seqlen, sizes.nheads,
      sizes.headdim, sizes.ngroups, sizes.dstate);
  return cuda::StatusOf(cudaGetLastError(), "PassState");
}

}  // namespace

Status LaunchPassStateGeneral(const StageCall& call) {
  return DispatchGeneral(call.problem, [&]<typename Compute, size_t kSide>() {
    return LaunchGeneral<Compute, kSide>(call);
  });
}

}  // namespace tilescan::tile
