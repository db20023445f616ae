#include "cuda/scan_chunks.h"

#include <algorithm>
#include <limits>

#include "core/sequences.h"
#include "cuda/launch.cuh"
#include "cuda/warp.h"

namespace tilescan::cuda {
namespace {

constexpr int kThreads = 256;

// ---- the chunk table ----

// Tokens [begin, end) of a row. Both lie in [0, seqlen], begin <= end, whatever cu_seqlens holds.
struct RowTokens {
  int64_t begin, end;
};

__device__ int64_t ClampedBoundary(const ScanForwardProblem& problem, int64_t row_idx) {
  const int64_t value = IndexAt(problem.operands.cu_seqlens, row_idx);
  return value < 0 ? 0 : value > problem.sizes.seqlen ? problem.sizes.seqlen : value;
}

__device__ RowTokens TokensOfRow(const ScanForwardProblem& problem, int64_t row_idx) {
  if (!problem.operands.cu_seqlens.present()) return {0, problem.sizes.seqlen};
  const int64_t begin = ClampedBoundary(problem, row_idx);
  const int64_t end = ClampedBoundary(problem, row_idx + 1);
  return {begin, end < begin ? begin : end};
}

__device__ int64_t FirstSlotOfRow(const ScanForwardProblem& problem, const ChunkGrid& grid,
                                  int64_t row_idx) {
  if (!problem.operands.cu_seqlens.present()) {
    return row_idx * grid.CountChunks(problem.sizes.seqlen);
  }
  return grid.SlotsBefore(ClampedBoundary(problem, row_idx)) + row_idx;
}

// The last row whose slots begin at slot or before.
__device__ int64_t RowOfSlot(const ScanForwardProblem& problem, const ChunkGrid& grid,
                             int64_t slot) {
  if (!problem.operands.cu_seqlens.present()) return slot / grid.CountChunks(problem.sizes.seqlen);
  int64_t low = 0;
  int64_t high = problem.sizes.num_seqs - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (FirstSlotOfRow(problem, grid, middle) <= slot) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__device__ void DescribeSlot(const ScanForwardProblem& problem, const ChunkGrid& grid,
                             const ChunkTable& table, int64_t slot) {
  const bool is_packed = problem.operands.cu_seqlens.present();
  const int64_t row_idx = RowOfSlot(problem, grid, slot);
  const RowTokens row = TokensOfRow(problem, row_idx);
  const int64_t chunk_idx = slot - FirstSlotOfRow(problem, grid, row_idx);
  table.row_idx[slot] = row_idx;
  table.batch_idx[slot] = is_packed ? 0 : row_idx;
  table.run_before[slot] = 0;
  table.run_after[slot] = 0;
  if (chunk_idx < 0 || chunk_idx >= grid.CountChunks(row.end - row.begin)) {
    table.first_token[slot] = 0;
    table.num_tokens[slot] = 0;
    table.state_out_idx[slot] = -1;
    return;
  }
  const int64_t span_idx = chunk_idx / grid.chunks_per_span;
  const int64_t begin_in_span = chunk_idx % grid.chunks_per_span * grid.chunk_size;
  const int64_t begin = row.begin + span_idx * grid.span + begin_in_span;
  const int64_t left_in_span = grid.span - begin_in_span;
  int64_t num_tokens = row.end - begin;
  if (num_tokens > left_in_span) num_tokens = left_in_span;
  if (num_tokens > grid.chunk_size) num_tokens = grid.chunk_size;
  table.first_token[slot] = begin;
  table.num_tokens[slot] = static_cast<int32_t>(num_tokens);
  const bool ends_span = problem.operands.states_out.present() && num_tokens == left_in_span;
  const int64_t first_state_out = is_packed ? row.begin / grid.span + row_idx : 0;
  table.state_out_idx[slot] = ends_span ? first_state_out + span_idx : -1;
}

__global__ void __launch_bounds__(kThreads)
    DescribeChunks(const ScanForwardProblem problem, const ChunkGrid grid, const ChunkTable table,
                   int64_t num_slots) {
  const int64_t idx = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (idx < num_slots) DescribeSlot(problem, grid, table, idx);
  if (idx < problem.sizes.num_seqs) {
    const RowTokens row = TokensOfRow(problem, idx);
    table.first_slot[idx] = FirstSlotOfRow(problem, grid, idx);
    table.num_chunks[idx] = grid.CountChunks(row.end - row.begin);
  }
}

// ---- runs ----

constexpr int kRunThreads = 1024;
constexpr int kRunWarps = kRunThreads / kWarpLanes;

// Of two neighbouring pieces of a row, what stands for both.
struct LastId {
  static constexpr int32_t kNone = -1;
  __device__ static int32_t Join(int32_t left, int32_t right) { return right >= 0 ? right : left; }
};
struct Sum {
  static constexpr int32_t kNone = 0;
  __device__ static int32_t Join(int32_t left, int32_t right) { return left + right; }
};

// Of a block's values, one a thread: before: of those of the threads before this one; all: of all.
struct Scanned {
  int32_t before, all;
};

template <typename Operation>
__device__ Scanned ScanBlock(int32_t value, int32_t (&warp_values)[kRunWarps]) {
  const int lane = threadIdx.x % kWarpLanes;
  const int warp = threadIdx.x / kWarpLanes;
  int32_t inclusive = value;
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const int32_t left = __shfl_up_sync(kAllLanes, inclusive, distance);
    if (lane >= distance) inclusive = Operation::Join(left, inclusive);
  }
  if (lane == kWarpLanes - 1) warp_values[warp] = inclusive;
  __syncthreads();
  Scanned scanned{Operation::kNone, Operation::kNone};
  for (int idx = 0; idx < kRunWarps; ++idx) {
    if (idx == warp) scanned.before = scanned.all;
    scanned.all = Operation::Join(scanned.all, warp_values[idx]);
  }
  const int32_t left = __shfl_up_sync(kAllLanes, inclusive, 1);
  if (lane > 0) scanned.before = Operation::Join(scanned.before, left);
  __syncthreads();
  return scanned;
}

// A block a row, which it walks from the first token to the last.
__global__ void __launch_bounds__(kRunThreads)
    CountRuns(const ScanForwardProblem problem, int32_t* codes) {
  __shared__ int32_t warp_values[kRunWarps];
  const TensorView& seq_idx = problem.operands.seq_idx;
  const int64_t seqlen = problem.sizes.seqlen;
  const int64_t row_idx = blockIdx.x;
  int32_t last_id = LastId::kNone;  // of the tokens before this tile
  int32_t num_begun = 0;
  for (int64_t tile_begin = 0; tile_begin < seqlen; tile_begin += kRunThreads) {
    const int64_t token = tile_begin + threadIdx.x;
    const int32_t id =
        token < seqlen
            ? *seq_idx.At<const int32_t>(row_idx * seq_idx.strides[0] + token * seq_idx.strides[1])
            : LastId::kNone;
    const Scanned ids = ScanBlock<LastId>(id, warp_values);
    const int32_t previous = LastId::Join(last_id, ids.before);
    const int32_t begins = id >= 0 && previous >= 0 && id != previous ? 1 : 0;
    const Scanned begun = ScanBlock<Sum>(begins, warp_values);
    const int32_t run = num_begun + begun.before + begins;
    if (token < seqlen) codes[row_idx * seqlen + token] = id >= 0 ? run : ~run;
    last_id = LastId::Join(last_id, ids.all);
    num_begun += begun.all;
  }
}

__device__ int32_t RunOf(int32_t code) { return code < 0 ? ~code : code; }

// A block a slot, a thread a token.
__global__ void AlignRuns(int64_t seqlen, const ChunkTable table, const RunCodes codes) {
  const int64_t slot = blockIdx.x;
  const int32_t num_tokens = table.num_tokens[slot];
  if (num_tokens == 0) return;
  const int32_t* of_row = codes.of_tokens + table.batch_idx[slot] * seqlen;
  const int64_t first_token = table.first_token[slot];
  const int32_t token = static_cast<int32_t>(threadIdx.x);
  const int32_t run_after = RunOf(of_row[first_token + num_tokens - 1]);
  codes.of_slots[slot * blockDim.x + token] =
      token < num_tokens ? of_row[first_token + token] : ~run_after;
  if (token == 0) {
    // A row's first token begins no run: its state is that before it.
    table.run_before[slot] = first_token == 0 ? 0 : RunOf(of_row[first_token - 1]);
    table.run_after[slot] = run_after;
  }
}

}  // namespace

ChunkGrid MakeChunkGrid(const ScanForwardProblem& problem, int64_t max_chunk_size) {
  // Far more than any row has, and far from overflow.
  constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 4;
  if (!problem.operands.states_out.present()) return {max_chunk_size, kEndless, kEndless};
  // A span longer than every row is never full; bounded, its arithmetic cannot overflow.
  const int64_t span = std::min(problem.operands.states_every, problem.sizes.seqlen + 1);
  const int64_t chunks_per_span = (span + max_chunk_size - 1) / max_chunk_size;
  return {(span + chunks_per_span - 1) / chunks_per_span, span, chunks_per_span};
}

int64_t NumSlots(const ScanForwardProblem& problem, const ChunkGrid& grid) {
  const ScanSizes& sizes = problem.sizes;
  if (!problem.operands.cu_seqlens.present()) {
    return sizes.num_seqs * grid.CountChunks(sizes.seqlen);
  }
  return grid.SlotsBefore(sizes.seqlen) + sizes.num_seqs;
}

ChunkTable CarveChunkTable(const ScanForwardProblem& problem, const ChunkGrid& grid,
                           Carver& carver) {
  const int64_t num_slots = NumSlots(problem, grid);
  ChunkTable table;
  table.first_token = carver.Take<int64_t>(num_slots);
  table.row_idx = carver.Take<int64_t>(num_slots);
  table.batch_idx = carver.Take<int64_t>(num_slots);
  table.state_out_idx = carver.Take<int64_t>(num_slots);
  table.num_tokens = carver.Take<int32_t>(num_slots);
  table.run_before = carver.Take<int32_t>(num_slots);
  table.run_after = carver.Take<int32_t>(num_slots);
  table.first_slot = carver.Take<int64_t>(problem.sizes.num_seqs);
  table.num_chunks = carver.Take<int64_t>(problem.sizes.num_seqs);
  return table;
}

Status WriteChunkTable(const ScanForwardProblem& problem, const ChunkGrid& grid,
                       const ChunkTable& table, cudaStream_t stream) {
  const int64_t num_slots = NumSlots(problem, grid);
  const int64_t num_entries = std::max(num_slots, problem.sizes.num_seqs);
  if (num_entries == 0) return Status();
  const int64_t num_blocks = (num_entries + kThreads - 1) / kThreads;
  return LaunchKernel(
      "DescribeChunks", DescribeChunks,
      {.grid = dim3(static_cast<unsigned>(num_blocks)), .num_threads = kThreads, .stream = stream},
      problem, grid, table, num_slots);
}

RunCodes CarveRunCodes(const ScanForwardProblem& problem, int64_t num_slots, int64_t tile_size,
                       Carver& carver) {
  RunCodes codes;
  if (!problem.operands.seq_idx.present()) return codes;
  codes.of_tokens = carver.Take<int32_t>(problem.sizes.batch, problem.sizes.seqlen);
  codes.of_slots = carver.Take<int32_t>(num_slots, tile_size);
  return codes;
}

Status WriteRunCodes(const ScanForwardProblem& problem, int64_t num_slots, int64_t tile_size,
                     const ChunkTable& table, const RunCodes& codes, cudaStream_t stream) {
  if (!problem.operands.seq_idx.present() || num_slots == 0) return Status();
  TILESCAN_RETURN_IF_ERROR(LaunchKernel("CountRuns", CountRuns,
                                        {.grid = dim3(static_cast<unsigned>(problem.sizes.batch)),
                                         .num_threads = kRunThreads,
                                         .stream = stream},
                                        problem, codes.of_tokens));
  return LaunchKernel("AlignRuns", AlignRuns,
                      {.grid = dim3(static_cast<unsigned>(num_slots)),
                       .num_threads = static_cast<unsigned>(tile_size),
                       .stream = stream},
                      problem.sizes.seqlen, table, codes);
}

Status LoadChunkKernels() {
  TILESCAN_RETURN_IF_ERROR(LoadKernel("DescribeChunks", DescribeChunks));
  TILESCAN_RETURN_IF_ERROR(LoadKernel("CountRuns", CountRuns));
  return LoadKernel("AlignRuns", AlignRuns);
}

}  // namespace tilescan::cuda
