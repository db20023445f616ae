// The third stage of the scan for bf16 operands in whole vectors: as compute_out.cu (chunk_terms.h
// has the formula), rounding M and the states before chunks to bf16.
//
// x z out (batch, seqlen, nheads, headdim), C (batch, seqlen, ngroups, dstate), bf16, dstate up to
// 256; CB as multiply_cb.cu; entry_states (num_slots, nheads, headdim, dstate) bf16; skip_rows
// (nheads, headdim) fp32.
//
// Programs that stay, each chunk, head and 64 channels after another's, the heads of a chunk side
// by side. Bound by reading the states, and by the work on single elements of M.
#include <algorithm>

#include "cuda/launch.cuh"
#include "tile/chunk_terms.h"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

constexpr int kProgramsPerMultiprocessor = 3;

// z is some operand without kHasZ.
template <bool kHasZ, size_t kStates, size_t kStateTiles>
[[using cutile: hint(900, occupancy = 3)]] __tile_global__ void ComputeOutBf16(
    const __nv_bfloat16* x, int32_t x_batch_stride, int32_t x_token_stride, int32_t x_head_stride,
    const __nv_bfloat16* C, int32_t C_batch_stride, int32_t C_token_stride, int32_t C_group_stride,
    const float* skip_rows, const __nv_bfloat16* z, int32_t z_batch_stride, int32_t z_token_stride,
    int32_t z_head_stride, __nv_bfloat16* out, int32_t out_batch_stride, int32_t out_token_stride,
    int32_t out_head_stride, const float* token_rows, const __nv_bfloat16* CB,
    const __nv_bfloat16* entry_states, int32_t batch, int32_t seqlen, int32_t nheads,
    int32_t headdim, int32_t ngroups, int32_t dstate, int32_t num_programs) {
  constexpr int32_t side = kChunkTile;
  const int32_t num_channel_tiles = CountTiles<kChannels>(headdim);
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t num_slots = batch * num_chunks;
  const int32_t num_outs = num_slots * nheads * num_channel_tiles;
  const auto x_view = ChunkView<kChunkTile, kChannels>(
      x, batch, seqlen, nheads, headdim, x_batch_stride, x_token_stride, x_head_stride);
  const auto C_view = ChunkView<kChunkTile, kStates>(
      C, batch, seqlen, ngroups, dstate, C_batch_stride, C_token_stride, C_group_stride);
  const auto z_view = ChunkView<kChunkTile, kChannels>(
      z, batch, seqlen, nheads, headdim, z_batch_stride, z_token_stride, z_head_stride);
  const auto out_view = ChunkView<kChunkTile, kChannels>(
      out, batch, seqlen, nheads, headdim, out_batch_stride, out_token_stride, out_head_stride);
  const auto H_view =
      MatrixView<kChannels, kStates>(entry_states, num_slots, nheads, headdim, dstate);
  const auto CB_view = MatrixView<kChunkTile, kChunkTile>(CB, num_slots, ngroups, side, side);
  const auto rows_view = TokenRowsView(token_rows, num_slots, nheads);
  const auto D_view = RowsView<kChannels>(skip_rows, nheads, headdim);

  for (int32_t idx = ct::bid().x; idx < num_outs; idx += num_programs) {
    const int32_t channel_tile = idx % num_channel_tiles;
    const int32_t head_idx = idx / num_channel_tiles % nheads;
    const int32_t slot = idx / num_channel_tiles / nheads;
    const int32_t group_idx = head_idx / (nheads / ngroups);
    const int32_t row_idx = slot / num_chunks;
    const int32_t chunk_idx = slot % num_chunks;
    const auto x_chunk =
        LoadMatrix<kChunkTile, kChannels>(x_view, row_idx, chunk_idx, head_idx, channel_tile);
    const auto C_chunk = LoadMatrix<kChunkTile, kStates>(C_view, row_idx, chunk_idx, group_idx, 0);
    const auto H = LoadMatrix<kChannels, kStates>(H_view, slot, head_idx, channel_tile, 0);
    const auto CB_chunk = LoadMatrix<kChunkTile, kChunkTile>(CB_view, slot, group_idx, 0, 0);
    const HeadChunk chunk = LoadHeadChunk(rows_view, slot, head_idx);
    const auto D =
        ct::reshape(LoadAhead(D_view, head_idx, channel_tile), ct::shape<kChannels, 1>{});

    auto y = ct::mma(H, ct::transpose(C_chunk), ct::zeros<ChannelsByTokens>());
    if constexpr (kStateTiles == 2) {
      const auto C_rest = LoadMatrix<kChunkTile, kStates>(C_view, row_idx, chunk_idx, group_idx, 1);
      const auto H_rest = LoadMatrix<kChannels, kStates>(H_view, slot, head_idx, channel_tile, 1);
      y = ct::mma(H_rest, ct::transpose(C_rest), y);
    }
    const auto x_transposed = ct::transpose(x_chunk);
    y = y * chunk.decay_roots * chunk.decay_roots;
    y = ct::mma(x_transposed, WeighTransposed(CB_chunk, chunk), y);
    y = y + D * ct::element_cast<float>(x_transposed);
    if constexpr (kHasZ) {
      const auto z_chunk =
          LoadMatrix<kChunkTile, kChannels>(z_view, row_idx, chunk_idx, head_idx, channel_tile);
      y = y * Silu(ct::element_cast<float>(ct::transpose(z_chunk)));
    }
    StoreOut(y, out_view, row_idx, chunk_idx, head_idx, channel_tile);
  }
}

template <bool kHasZ, size_t kStates, size_t kStateTiles>
Status Launch(const StageCall& call) {
  const auto kernel = ComputeOutBf16<kHasZ, kStates, kStateTiles>;
  if (call.only_loads) return cuda::LoadKernel("ComputeOutBf16", kernel);
  const ScanForwardOperands& operands = call.problem.operands;
  const ScanSizes& sizes = call.problem.sizes;
  const VectorRows x(operands.x);
  const VectorRows C(operands.C);
  const VectorRows z(kHasZ ? operands.z : operands.x);
  const VectorRows out(operands.out);
  const StageBuffers& buffers = call.buffers;
  const int64_t num_outs = call.num_slots * sizes.nheads * CeilDiv(sizes.headdim, kChannels);
  const int64_t num_programs = std::min(num_outs, StayingPrograms(kProgramsPerMultiprocessor));
  if (num_programs == 0) return Status();
  kernel<<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, x.batch_stride, x.token_stride, x.head_stride, C.data, C.batch_stride, C.token_stride,
      C.head_stride, buffers.skip_rows, z.data, z.batch_stride, z.token_stride, z.head_stride,
      out.data, out.batch_stride, out.token_stride, out.head_stride, buffers.token_rows,
      static_cast<const __nv_bfloat16*>(buffers.CB),
      static_cast<const __nv_bfloat16*>(buffers.entry_states), Int32(sizes.batch),
      Int32(sizes.seqlen), Int32(sizes.nheads), Int32(sizes.headdim), Int32(sizes.ngroups),
      Int32(sizes.dstate), Int32(num_programs));
  return cuda::StatusOf(cudaGetLastError(), "ComputeOutBf16");
}

}  // namespace

Status LaunchComputeOutBf16(const StageCall& call) {
  const bool has_z = call.problem.operands.z.present();
  return DispatchBf16(call.problem, [&]<size_t kStates, size_t kStateTiles>() {
    return has_z ? Launch<true, kStates, kStateTiles>(call)
                 : Launch<false, kStates, kStateTiles>(call);
  });
}

}  // namespace tilescan::tile
