// The last stage of the scan: out of a chunk, from the state before it.
//
//   y_i = 2^a_i H C_i + sum over j <= i of (C_i . B_j) 2^(a_i - a_j) dt_j x_j
//   out_i = (y_i + D x_i) * silu(z_i)
//
// x z out (batch, seqlen, nheads, headdim), B C (batch, seqlen, ngroups, dstate), D (nheads) or
// (nheads, headdim); H, the state before the chunk, and dt and a from the stages before. With
// seq_idx the sum is over tokens of i's run, H counts for tokens of its own run only, and out of
// padding is 0.
//
// A program a slot, head and tile of headdim; it walks dstate in tiles for H C and CB, which share
// C. Chunks are independent of each other. Bound by reading x and the states and writing out where
// headdim and dstate are those of models; B and C come from the L2 cache after the first head of a
// group.
#include "cuda/launch.cuh"
#include "tile/chunk_tiles.h"
#include "tile/dispatch_general.h"
#include "tile/scan_stages.h"

namespace tilescan::tile {
namespace {

// What out is made of besides y.
struct OutParts {
  Matrix D, z;  // D: a row
  bool has_D, has_z;
};

// (y + D x) * silu(z).
template <typename Index, size_t kChannels>
__tile__ Tile<float, kChunkTile, kChannels> FinishOut(Tile<float, kChunkTile, kChannels> y,
                                                      Tile<float, kChunkTile, kChannels> x,
                                                      OutParts parts,
                                                      Tile<bool, kChunkTile, 1> is_used,
                                                      Tile<bool, 1, kChannels> is_channel) {
  if (parts.has_D) y = y + LoadFloats<Index>(parts.D, is_channel) * x;
  if (parts.has_z) y = y * Silu(LoadFloats<Index>(parts.z, is_used && is_channel));
  return y;
}

// With fewer warps a thread would have more than its registers hold.
template <typename Compute, size_t kSide>
[[using cutile: hint(0, num_worker_warps_per_cta = 8)]] __tile_global__ void ComputeOut(
    const void* x, int32_t x_dtype, int64_t x_batch_stride, int64_t x_token_stride,
    int64_t x_head_stride, int64_t x_channel_stride, const void* B, int32_t B_dtype,
    int64_t B_batch_stride, int64_t B_token_stride, int64_t B_group_stride, int64_t B_state_stride,
    const void* C, int64_t C_batch_stride, int64_t C_token_stride, int64_t C_group_stride,
    int64_t C_state_stride, const void* D, int32_t D_dtype, int64_t D_head_stride,
    int64_t D_channel_stride, const void* z, int64_t z_batch_stride, int64_t z_token_stride,
    int64_t z_head_stride, int64_t z_channel_stride, void* out, int64_t out_batch_stride,
    int64_t out_token_stride, int64_t out_head_stride, int64_t out_channel_stride,
    const int64_t* first_token, const int64_t* batch_idx, const int32_t* num_tokens,
    const int32_t* run_before, const int32_t* run_codes, const float* token_rows,
    const float* entry_states, int64_t seqlen, int64_t nheads, int64_t headdim, int64_t ngroups,
    int64_t dstate) {
  using Out = Tile<float, kChunkTile, kSide>;
  using Index = OffsetIn<kSide>;
  constexpr int64_t side = kSide;
  const int64_t num_channel_tiles = (headdim + side - 1) / side;
  const int64_t head_slot = ct::bid().x / num_channel_tiles;
  const int64_t slot = head_slot / nheads;
  const int64_t head_idx = head_slot % nheads;
  const int64_t group_idx = head_idx / (nheads / ngroups);
  const ChunkPlace chunk = FindChunk(first_token, batch_idx, num_tokens, slot, seqlen);
  if (chunk.num_tokens == 0) return;

  const TokenRuns runs = LoadRuns(run_codes, slot, chunk);
  const int64_t first_channel = ct::bid().x % num_channel_tiles * side;
  const int32_t num_channels = CountFrom<kSide>(first_channel, headdim);
  const auto is_channel = ColumnIndices<kSide>() < num_channels;
  const int64_t B_offset = chunk.batch_idx * B_batch_stride + chunk.first_token * B_token_stride +
                           group_idx * B_group_stride;
  const int64_t C_offset = chunk.batch_idx * C_batch_stride + chunk.first_token * C_token_stride +
                           group_idx * C_group_stride;
  const int64_t H_offset = (head_slot * headdim + first_channel) * dstate;

  auto CB = ct::zeros<TokenPairs>();
  auto y = ct::zeros<Out>();
  for (int64_t first_state = 0; first_state < dstate; first_state += side) {
    const auto is_state = ColumnIndices<kSide>() < CountFrom<kSide>(first_state, dstate);
    const auto C_chunk = LoadFloats<Index>(
        Matrix{C, B_dtype, C_offset + first_state * C_state_stride, C_token_stride, C_state_stride},
        runs.is_used && is_state);
    const auto B_chunk = LoadFloats<Index>(
        Matrix{B, B_dtype, B_offset + first_state * B_state_stride, B_token_stride, B_state_stride},
        runs.is_used && is_state);
    const auto offsets =
        RowIndices<kSide, Index>() * static_cast<Index>(dstate) + ColumnIndices<kSide, Index>();
    const auto H = ct::load_masked(entry_states + H_offset + first_state + offsets,
                                   RowIndices<kSide>() < num_channels && is_state, 0.0f);
    CB = MultiplyAdd<Compute>(C_chunk, ct::transpose(B_chunk), CB);
    y = MultiplyAdd<Compute>(C_chunk, ct::transpose(H), y);
  }

  const ChunkExponents exponents = LoadExponents(token_rows, head_slot);
  auto sees_row = RowIndices<kChunkTile>() >= ColumnIndices<kChunkTile>();
  y = y * Exp2OfSum(exponents.a_high, exponents.a_low);
  if (run_codes != nullptr) {
    sees_row = sees_row && runs.run == AsRow(runs.run);
    y = ct::select(runs.run == run_before[slot], y, ct::zeros<Out>());
  }
  const Matrix x_matrix{x, x_dtype,
                        chunk.batch_idx * x_batch_stride + chunk.first_token * x_token_stride +
                            head_idx * x_head_stride + first_channel * x_channel_stride,
                        x_token_stride, x_channel_stride};
  const auto x_chunk = LoadFloats<Index>(x_matrix, runs.is_used && is_channel);
  const auto is_finite = IsFinite(x_chunk);
  y = MultiplyAdd<Compute>(WeighPairs(CB, exponents, sees_row),
                           ct::select(is_finite, x_chunk, ct::zeros<Out>()), y);
  if (!AllOf(is_finite)) y = SpreadNan(y, sees_row, is_finite);

  const OutParts parts{
      Matrix{D, D_dtype, head_idx * D_head_stride + first_channel * D_channel_stride, 0,
             D_channel_stride},
      Matrix{z, x_dtype,
             chunk.batch_idx * z_batch_stride + chunk.first_token * z_token_stride +
                 head_idx * z_head_stride + first_channel * z_channel_stride,
             z_token_stride, z_channel_stride},
      D != nullptr, z != nullptr};
  y = FinishOut<Index>(y, x_chunk, parts, runs.is_used, is_channel);
  y = ct::select(runs.is_used, y, ct::zeros<Out>());
  const Matrix out_matrix{out, x_dtype,
                          chunk.batch_idx * out_batch_stride +
                              chunk.first_token * out_token_stride + head_idx * out_head_stride +
                              first_channel * out_channel_stride,
                          out_token_stride, out_channel_stride};
  StoreFloats<Index>(y, out_matrix, RowIndices<kChunkTile>() < chunk.num_tokens && is_channel);
}

template <typename Compute, size_t kSide>
Status LaunchGeneral(const StageCall& call) {
  if (call.only_loads) return cuda::LoadKernel("ComputeOut", ComputeOut<Compute, kSide>);
  const ScanSizes& sizes = call.problem.sizes;
  const ScanForwardOperands& operands = call.problem.operands;
  const TensorView& x = operands.x;
  const TensorView& B = operands.B;
  const TensorView& C = operands.C;
  const TensorView& D = operands.D;
  const TensorView& z = operands.z;
  const TensorView& out = operands.out;
  const StageBuffers& buffers = call.buffers;
  const int64_t num_programs = call.num_slots * sizes.nheads * CeilDiv(sizes.headdim, kSide);
  if (num_programs == 0) return Status();
  ComputeOut<Compute, kSide><<<GridOf(num_programs), 1, 0, call.stream>>>(
      x.data, DTypeCode(x), x.strides[0], x.strides[1], x.strides[2], x.strides[3], B.data,
      DTypeCode(B), B.strides[0], B.strides[1], B.strides[2], B.strides[3], C.data, C.strides[0],
      C.strides[1], C.strides[2], C.strides[3], D.data, DTypeCode(D), D.strides[0],
      D.ndim == 2 ? D.strides[1] : 0, z.data, z.strides[0], z.strides[1], z.strides[2],
      z.strides[3], out.data, out.strides[0], out.strides[1], out.strides[2], out.strides[3],
      buffers.chunks.first_token, buffers.chunks.batch_idx, buffers.chunks.num_tokens,
      buffers.chunks.run_before, buffers.runs.of_slots, buffers.token_rows,
      static_cast<const float*>(buffers.entry_states), sizes.seqlen, sizes.nheads, sizes.headdim,
      sizes.ngroups, sizes.dstate);
  return cuda::StatusOf(cudaGetLastError(), "ComputeOut");
}

}  // namespace

Status LaunchComputeOutGeneral(const StageCall& call) {
  return DispatchGeneral(call.problem, [&]<typename Compute, size_t kSide>() {
    return LaunchGeneral<Compute, kSide>(call);
  });
}

}  // namespace tilescan::tile
