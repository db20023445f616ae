// The warpgroups of the row blocks: each takes its rows' state through the chunks of a piece, in
// registers.
#ifndef TILESCAN_HOPPER_SCAN_ROWS_CUH_
#define TILESCAN_HOPPER_SCAN_ROWS_CUH_

#include <cstdint>

#include "hopper/scan_bodies.cuh"
#include "hopper/scan_two_heads.cuh"

namespace tilescan::hopper {

// Where a row block's warpgroup stands in the rings.
template <typename Config>
struct RowCursors {
  RingCursor<Config::kXStages> x;
  RingCursor<Config::kBStages> group;
  RingCursor<Config::kZStages> z;
  RingCursor<Config::kFactorStages> factors;
  RingCursor<Config::kOutStages> out;
  RingCursor<Config::kShareStages> share;
};

// D of a thread's rows.
__device__ __forceinline__ void LoadD(const TensorView& D, const WarpRows& rows, int lane,
                                      float (&values)[2]) {
#pragma unroll
  for (int idx = 0; idx < 2; ++idx) {
    const int64_t channel = D.ndim == 2 ? (rows.channel + lane / 4 + 8 * idx) * D.strides[1] : 0;
    values[idx] = D.present() ? numerics::LoadFloat(D, rows.head * D.strides[0] + channel) : 0.0f;
  }
}

// Of the warp's head.
template <typename Config>
__device__ __forceinline__ const ChunkFactors& FactorsOf(const ScanStorage<Config>& storage,
                                                         const RowThread& at, int stage,
                                                         int32_t row_head) {
  return storage.factors[at.block_idx][stage][Config::kRowHeads == 1 ? 0 : row_head];
}

template <typename Config>
__device__ __forceinline__ void Rescale(const ChunkFrame& frame, StateSums<Config>& state) {
  if (frame.body != ChunkBody::kKeepFrame) Scale<Config>(state, frame.scale);
  if (frame.body == ChunkBody::kRescaleTwice) Scale<Config>(state, frame.scale_again);
}

// x of a chunk and its factors; x's place in the ring is free again.
template <typename Config>
__device__ __forceinline__ void TakeInput(ScanStorage<Config>& storage, const RowThread& at,
                                          const ChunkFactors& chunk_factors,
                                          RowCursors<Config>& cursors, InputFragments& x,
                                          InputFactors (&factors)[kTokenSteps]) {
  LoadFragments(storage.x.tile[cursors.x.stage][at.block_idx], at, x);
  LoadInputFactors(chunk_factors.input, at.lane, factors);
  ArriveOfWarp(storage.x_ring.empty[cursors.x.stage]);
  cursors.x.Advance();
}

// One after another they would each take the time that a barrier takes to be asked.
template <typename Config>
__device__ __forceinline__ void WaitForChunk(ScanStorage<Config>& storage, const RowThread& at,
                                             const RowCursors<Config>& cursors) {
  bool is_ready;
  do {
    const bool has_factors = IsFull(storage.factor_ring[at.block_idx], cursors.factors);
    const bool has_x = IsFull(storage.x_ring, cursors.x);
    const bool has_group = IsFull(storage.group_ring, cursors.group);
    is_ready = has_factors && has_x && has_group;
  } while (!is_ready);
  __syncwarp();
}

// What a thread knows of its rows in a piece.
struct ThreadRows {
  float D[2];
  int32_t row_head;  // WarpRows
};

// out of a chunk, and the state after it.
template <typename Config>
__device__ __forceinline__ float ComputeChunk(ScanStorage<Config>& storage, const RowThread& at,
                                              const ThreadRows& rows, RowCursors<Config>& cursors,
                                              StateSums<Config>& state) {
  WaitForChunk(storage, at, cursors);
  const ChunkFactors& factors = FactorsOf(storage, at, cursors.factors.stage, rows.row_head);
  const Chunk<Config> chunk = {
      at,        storage,     factors,       factors.frame,         cursors.group.stage,
      cursors.z, cursors.out, cursors.share, {rows.D[0], rows.D[1]}};
  InputFragments x;
  InputFactors input_factors[kTokenSteps];
  TakeInput(storage, at, factors, cursors, x, input_factors);
  InputFragments scaled;
  ScaleInput(x, input_factors, scaled);
  Rescale<Config>(chunk.frame, state);
  // The same in all lanes, which the compiler must know: products cannot be in a divergent branch.
  const auto body = static_cast<ChunkBody>(ptx::Uniform(static_cast<int32_t>(chunk.frame.body)));
  if (Config::kStateParts > 1 && at.part_idx > 0) {
    if constexpr (Config::kStateParts > 1) ComputeShare(chunk, body, scaled, state);
  } else if (body == ChunkBody::kSplitHalves) {
    ComputeInTwoFrames(chunk, x, scaled, state);
  } else if (body != ChunkBody::kExact) {
    ComputeInOneFrame(chunk, x, scaled, state);
  } else if constexpr (Config::kRowHeads > 1) {
    ComputeExactlyByWarp(chunk, x, scaled, state);
  } else {
    ComputeExactly(chunk, x, scaled, state);
  }
  ptx::WgmmaWaitGroup<0>();
  ptx::PinRegisters(state);
  ArriveOfWarp(storage.group_ring.empty[cursors.group.stage]);
  ArriveOfWarp(storage.factor_ring[at.block_idx].empty[cursors.factors.stage]);
  cursors.group.Advance();
  cursors.factors.Advance();
  cursors.out.Advance();
  if constexpr (Config::kStateParts > 1) cursors.share.Advance();
  if constexpr (Config::kHasZ) cursors.z.Advance();
  return chunk.frame.end_scale;
}

// The state through some chunks, without out. The next chunk's x is taken while the products are
// under way.
template <typename Config>
__device__ __forceinline__ void PassState(ScanStorage<Config>& storage, const RowThread& at,
                                          int32_t row_head, int32_t num_chunks,
                                          RowCursors<Config>& cursors, StateSums<Config>& state) {
  InputFragments x;
  InputFactors factors[kTokenSteps];
  ChunkFrame frame;
  const auto take_next = [&] {
    WaitFull(storage.factor_ring[at.block_idx], cursors.factors);
    WaitFull(storage.x_ring, cursors.x);
    __syncwarp();
    const ChunkFactors& from = FactorsOf(storage, at, cursors.factors.stage, row_head);
    frame = from.frame;
    TakeInput(storage, at, from, cursors, x, factors);
    ArriveOfWarp(storage.factor_ring[at.block_idx].empty[cursors.factors.stage]);
    cursors.factors.Advance();
  };
  take_next();
#pragma unroll 1
  for (int32_t idx = 0; idx < num_chunks; ++idx) {
    InputFragments scaled;
    ScaleInput(x, factors, scaled);
    Rescale<Config>(frame, state);
    WaitFull(storage.group_ring, cursors.group);
    __syncwarp();
    ptx::WgmmaFence();
    AddInputToState<Config>(
        scaled,
        ptx::SharedAddress(&storage.B.tile[cursors.group.stage][at.part_idx * Config::kPartTiles]),
        state);
    ptx::WgmmaCommitGroup();
    if (idx + 1 < num_chunks) take_next();
    ptx::WgmmaWaitGroup<0>();
    ptx::PinRegisters(state);
    ArriveOfWarp(storage.group_ring.empty[cursors.group.stage]);
    cursors.group.Advance();
  }
}

// The state through a piece's chunks.
template <typename Config>
__device__ __forceinline__ void PassChunks(ScanStorage<Config>& storage, const RowThread& at,
                                           const ThreadRows& rows, int32_t num_chunks,
                                           RowCursors<Config>& cursors, StateSums<Config>& state) {
  if constexpr (!Config::kMakesOut) {
    PassState(storage, at, rows.row_head, num_chunks, cursors, state);
  } else {
    float end_scale = 1.0f;
#pragma unroll 1
    for (int32_t idx = 0; idx < num_chunks; ++idx) {
      end_scale = ComputeChunk(storage, at, rows, cursors, state);
    }
    Scale<Config>(state, end_scale);  // out of its frame
  }
}

template <typename Config>
__device__ __forceinline__ void ScanRows(const ScanParams& params, ScanStorage<Config>& storage,
                                         int warpgroup) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  constexpr bool kHasParts = Config::kStateParts > 1;
  const RowThread at = {kHasParts ? 0 : warpgroup, kHasParts ? warpgroup : 0, thread,
                        thread / kWarpLanes, thread % kWarpLanes};
  RowCursors<Config> cursors;
  // Until the states are there, and may be written over.
  if constexpr (Config::kMakesOut) cudaGridDependencySynchronize();
  const int32_t num_pieces = NumPieces(params.plan, Config::kPass, WorkerIdx());
#pragma unroll 1
  for (int32_t idx = 0; idx < num_pieces; ++idx) {
    StateSums<Config> state;
    int32_t num_chunks = 0;
    ThreadRows rows;
    {
      const Piece piece = GetPiece(params.plan, Config::kPass, WorkerIdx(), idx);
      const TaskRows task_rows = RowsOfTask<Config>(params, piece.task_idx);
      const WarpRows warp_rows = RowsOfWarp(params, at, task_rows);
      num_chunks = piece.end_chunk - piece.first_chunk;
      LoadStateBefore<Config>(params, at, piece, task_rows.batch_idx, warp_rows, state);
      LoadD(params.D, warp_rows, at.lane, rows.D);
      rows.row_head = warp_rows.row_head;
    }
    PassChunks(storage, at, rows, num_chunks, cursors, state);
    ptx::Forget(idx);  // registers are short while chunks are passed
    const Piece piece = GetPiece(params.plan, Config::kPass, WorkerIdx(), idx);
    StoreStateAfter<Config>(params, at, piece, RowsOfTask<Config>(params, piece.task_idx), state);
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_ROWS_CUH_
