// CB = tril(C B^T) of each chunk and group, for the forms of the scan for bf16 operands: the heads
// of a group share it.
//
// B C (batch, seqlen, ngroups, dstate), bf16 in whole vectors, dstate up to 256; CB (num_slots,
// ngroups, 64, 64) bf16.
//
// Programs that stay, each chunk and group after another's. Bound by reading B and C.
#include <algorithm>

#include "cuda/launch.cuh"
#include "tile/chunk_tiles.h"
#include "tile/dispatch_bf16.h"
#include "tile/scan_stages.h"
#include "tile/views.h"

namespace tilescan::tile {
namespace {

constexpr int kProgramsPerMultiprocessor = 4;

template <size_t kStates, size_t kStateTiles>
[[using cutile: hint(900, occupancy = 4)]] __tile_global__ void MultiplyCB(
    const __nv_bfloat16* B, int32_t B_batch_stride, int32_t B_token_stride, int32_t B_group_stride,
    const __nv_bfloat16* C, int32_t C_batch_stride, int32_t C_token_stride, int32_t C_group_stride,
    __nv_bfloat16* CB, int32_t batch, int32_t seqlen, int32_t ngroups, int32_t dstate,
    int32_t num_programs) {
  using Chunk = ct::shape<kChunkTile, kStates>;
  constexpr int32_t side = kChunkTile;
  const int32_t num_chunks = CountTiles<kChunkTile>(seqlen);
  const int32_t num_products = batch * num_chunks * ngroups;
  const auto B_view = ChunkView<kChunkTile, kStates>(
      B, batch, seqlen, ngroups, dstate, B_batch_stride, B_token_stride, B_group_stride);
  const auto C_view = ChunkView<kChunkTile, kStates>(
      C, batch, seqlen, ngroups, dstate, C_batch_stride, C_token_stride, C_group_stride);
  const auto CB_view =
      MatrixView<kChunkTile, kChunkTile>(CB, batch * num_chunks, ngroups, side, side);
  const auto is_seen = RowIndices<kChunkTile>() >= ColumnIndices<kChunkTile>();
  for (int32_t idx = ct::bid().x; idx < num_products; idx += num_programs) {
    const int32_t group_idx = idx % ngroups;
    const int32_t slot = idx / ngroups;
    const int32_t row_idx = slot / num_chunks;
    const int32_t chunk = slot % num_chunks;
    const auto B_chunk = ct::reshape(LoadAhead(B_view, row_idx, chunk, group_idx, 0), Chunk{});
    const auto C_chunk = ct::reshape(LoadAhead(C_view, row_idx, chunk, group_idx, 0), Chunk{});
    auto product = ct::mma(C_chunk, ct::transpose(B_chunk), ct::zeros<TokenPairs>());
    if constexpr (kStateTiles == 2) {
      const auto B_rest = ct::reshape(LoadAhead(B_view, row_idx, chunk, group_idx, 1), Chunk{});
      const auto C_rest = ct::reshape(LoadAhead(C_view, row_idx, chunk, group_idx, 1), Chunk{});
      product = ct::mma(C_rest, ct::transpose(B_rest), product);
    }
    const auto masked = ct::select(is_seen, product, ct::zeros<TokenPairs>());
    CB_view.store(ct::reshape(ct::element_cast<__nv_bfloat16>(masked),
                              ct::shape<1, 1, kChunkTile, kChunkTile>{}),
                  slot, group_idx, 0, 0);
  }
}

template <size_t kStates, size_t kStateTiles>
Status Launch(const StageCall& call) {
  const auto kernel = MultiplyCB<kStates, kStateTiles>;
  if (call.only_loads) return cuda::LoadKernel("MultiplyCB", kernel);
  const ScanSizes& sizes = call.problem.sizes;
  const VectorRows B(call.problem.operands.B);
  const VectorRows C(call.problem.operands.C);
  const int64_t num_programs =
      std::min(call.num_slots * sizes.ngroups, StayingPrograms(kProgramsPerMultiprocessor));
  if (num_programs == 0) return Status();
  kernel<<<GridOf(num_programs), 1, 0, call.stream>>>(
      B.data, B.batch_stride, B.token_stride, B.head_stride, C.data, C.batch_stride, C.token_stride,
      C.head_stride, static_cast<__nv_bfloat16*>(call.buffers.CB), Int32(sizes.batch),
      Int32(sizes.seqlen), Int32(sizes.ngroups), Int32(sizes.dstate), Int32(num_programs));
  return cuda::StatusOf(cudaGetLastError(), "MultiplyCB");
}

}  // namespace

Status LaunchMultiplyCB(const StageCall& call) {
  return DispatchBf16(call.problem, [&]<size_t kStates, size_t kStateTiles>() {
    return Launch<kStates, kStateTiles>(call);
  });
}

}  // namespace tilescan::tile
