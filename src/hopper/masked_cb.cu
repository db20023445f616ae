// Of each chunk of a group:
//
//   CB_ij = C_i . B_j for j <= i, else 0
//
// B C (batch, seqlen, ngroups, dstate) in bf16, rows dense and aligned to 16 bytes; CB (batch,
// ngroups, nchunks, 64, 64) in bf16. A block a chunk, 4 warps with 16 rows of CB each; up to 128
// columns of both operands wait in shared memory (34 KiB; 6 blocks on a multiprocessor). Bound by
// reading B and C.
#include <cuda_bf16.h>
#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <cuda/ptx>

#include "cuda/launch.cuh"
#include "hopper/masked_cb.h"
#include "hopper/ptx/arithmetic.h"
#include "hopper/ptx/mma.h"
#include "hopper/scan_config.h"

namespace tilescan::hopper {
namespace {

constexpr int kThreads = 128;
static_assert(kThreads / kWarpLanes * kWarpRows == kChunkSize);

constexpr int kPieceElements = 16 / sizeof(__nv_bfloat16);  // of the 16 bytes moved at once
// Rows are a piece longer than they need to be, so that 8 of them begin in different banks.
constexpr int kCBStride = kChunkSize + kPieceElements;

struct Operand {
  const __nv_bfloat16* data;
  int64_t batch_stride, token_stride, group_stride;
};

struct MaskedCBParams {
  Operand B, C;
  __nv_bfloat16* CB;
  int32_t seqlen, ngroups, nchunks;
  uint32_t* words;
  int32_t num_words;
};

struct Place {
  int32_t batch_idx, group_idx, first_token;
};

template <int kColumns>
using OperandRows = __nv_bfloat16[kChunkSize][kColumns + kPieceElements];

template <int kColumns>
struct alignas(16) Storage {
  OperandRows<kColumns> B;
  OperandRows<kColumns> C;
};

template <int kColumns>
__device__ void LoadRows(const Operand& from, const Place& place, int first_column, int32_t seqlen,
                         __nv_bfloat16 (&rows)[kChunkSize][kColumns]) {
  constexpr int kRowPieces = kColumns / kPieceElements - 1;
  const __nv_bfloat16* first = from.data + place.batch_idx * from.batch_stride +
                               place.group_idx * from.group_stride + first_column;
#pragma unroll
  for (int idx = threadIdx.x; idx < kChunkSize * kRowPieces; idx += kThreads) {
    const int row = idx / kRowPieces;
    const int column = idx % kRowPieces * kPieceElements;
    const bool exists = place.first_token + row < seqlen;
    const int64_t token = exists ? place.first_token + row : 0;
    __pipeline_memcpy_async(&rows[row][column], first + token * from.token_stride + column, 16,
                            exists ? 0 : 16);
  }
}

// Sums of a warp's 16 rows, in 8 blocks of 8 columns. Those above the diagonal stay 0.
using Sums = float[kChunkSize / 8][4];

template <int kColumns>
__device__ void AddProducts(const Storage<kColumns>& storage, int warp, int lane, Sums& sums) {
#pragma unroll
  for (int first = 0; first < kColumns; first += 16) {
    uint32_t C[4];
    ::cuda::ptx::ldmatrix_m8n8(::cuda::ptx::space_shared, C,
                               &storage.C[warp * kWarpRows + lane % 16][first + lane / 16 * 8]);
#pragma unroll
    for (int block = 0; block < kChunkSize / 8; block += 2) {
      if (block * 8 >= (warp + 1) * kWarpRows) break;
      uint32_t B[4];
      ::cuda::ptx::ldmatrix_m8n8(
          ::cuda::ptx::space_shared, B,
          &storage.B[block * 8 + lane / 16 * 8 + lane % 8][first + lane / 8 % 2 * 8]);
      ptx::MmaN8(sums[block], C, B[0], B[1]);
      ptx::MmaN8(sums[block + 1], C, B[2], B[3]);
    }
  }
}

__device__ void RoundAndMask(const Sums& sums, int warp, int lane,
                             __nv_bfloat16 (&CB)[kChunkSize][kCBStride]) {
#pragma unroll
  for (int block = 0; block < kChunkSize / 8; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp * kWarpRows + half * 8 + lane / 4;
      const int column = block * 8 + lane % 4 * 2;
      const float first = column <= row ? sums[block][2 * half] : 0.0f;
      const float second = column < row ? sums[block][2 * half + 1] : 0.0f;
      *reinterpret_cast<uint32_t*>(&CB[row][column]) = ptx::RoundPair(first, second);
    }
  }
}

// Grid: (batch, ngroups, nchunks), flattened.
template <int kDstate>
__global__ void __launch_bounds__(kThreads) MaskedCBKernel(const MaskedCBParams params) {
  constexpr int kColumns = kDstate < 128 ? kDstate : 128;
  __shared__ Storage<kColumns> storage;
  cudaTriggerProgrammaticLaunchCompletion();
  const int warp = threadIdx.x / kWarpLanes;
  const int lane = threadIdx.x % kWarpLanes;
  const auto group = static_cast<int32_t>(blockIdx.x) / params.nchunks;
  const auto chunk_idx = static_cast<int32_t>(blockIdx.x) % params.nchunks;
  const Place place = {group / params.ngroups, group % params.ngroups, chunk_idx * kChunkSize};
  if (blockIdx.x == 0) {
    for (int idx = threadIdx.x; idx < params.num_words; idx += kThreads) params.words[idx] = 0;
  }
  Sums sums = {};
#pragma unroll
  for (int first_column = 0; first_column < kDstate; first_column += kColumns) {
    LoadRows(params.C, place, first_column, params.seqlen, storage.C);
    LoadRows(params.B, place, first_column, params.seqlen, storage.B);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    AddProducts(storage, warp, lane, sums);
    __syncthreads();
  }
  // Where B was.
  auto& CB = *reinterpret_cast<__nv_bfloat16(*)[kChunkSize][kCBStride]>(&storage.B);
  static_assert(sizeof(CB) <= sizeof(storage.B));
  RoundAndMask(sums, warp, lane, CB);
  __syncthreads();
  auto* to = reinterpret_cast<uint4*>(params.CB + int64_t{blockIdx.x} * kChunkSize * kChunkSize);
  constexpr int kRowPieces = kChunkSize / kPieceElements;
  for (int idx = threadIdx.x; idx < kChunkSize * kRowPieces; idx += kThreads) {
    const int column = idx % kRowPieces * kPieceElements;
    to[idx] = *reinterpret_cast<const uint4*>(&CB[idx / kRowPieces][column]);
  }
}

auto KernelFor(int64_t dstate) {
  return dstate == 64    ? MaskedCBKernel<64>
         : dstate == 128 ? MaskedCBKernel<128>
                         : MaskedCBKernel<256>;
}

Operand OperandOf(const TensorView& view) {
  return {view.At<const __nv_bfloat16>(0), view.strides[0], view.strides[1], view.strides[2]};
}

}  // namespace

int64_t NumCBTiles(const ScanSizes& sizes) {
  return sizes.batch * sizes.ngroups * ((sizes.seqlen + kChunkSize - 1) / kChunkSize);
}

Status PrepareMaskedCB(const ScanSizes& sizes) {
  return cuda::LoadKernel("masked CB", KernelFor(sizes.dstate));
}

Status RunMaskedCB(const ScanForwardProblem& problem, uint16_t* CB, uint32_t* words,
                   int32_t num_words, cudaStream_t stream) {
  const ScanSizes& sizes = problem.sizes;
  MaskedCBParams params;
  params.B = OperandOf(problem.operands.B);
  params.C = OperandOf(problem.operands.C);
  params.CB = reinterpret_cast<__nv_bfloat16*>(CB);
  params.seqlen = static_cast<int32_t>(sizes.seqlen);
  params.ngroups = static_cast<int32_t>(sizes.ngroups);
  params.nchunks = static_cast<int32_t>((sizes.seqlen + kChunkSize - 1) / kChunkSize);
  params.words = words;
  params.num_words = num_words;
  const cuda::LaunchShape shape = {.grid = dim3(static_cast<unsigned>(NumCBTiles(sizes))),
                                   .num_threads = kThreads,
                                   .stream = stream};
  return cuda::LaunchKernel("masked CB", KernelFor(sizes.dstate), shape, params);
}

}  // namespace tilescan::hopper
