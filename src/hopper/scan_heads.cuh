// The warpgroups of the block's heads: each takes its head's state through the chunks of a piece,
// in registers.
#ifndef TILESCAN_HOPPER_SCAN_HEADS_CUH_
#define TILESCAN_HOPPER_SCAN_HEADS_CUH_

#include <cstdint>

#include "hopper/scan_bodies.cuh"

namespace tilescan::hopper {

// Where a head's warpgroup stands in the rings.
template <typename Config>
struct HeadCursors {
  RingCursor<Config::kXStages> x;
  RingCursor<Config::kBStages> group;
  RingCursor<Config::kZStages> z;
  RingCursor<Config::kFactorStages> factors;
  RingCursor<Config::kOutStages> out;
};

// D of the channels of a thread's rows.
__device__ __forceinline__ void LoadD(const TensorView& D, int32_t head, const HeadThread& at,
                                      float (&values)[2]) {
#pragma unroll
  for (int idx = 0; idx < 2; ++idx) {
    const int64_t channel = D.ndim == 2 ? (at.Row() + 8 * idx) * D.strides[1] : 0;
    values[idx] = D.present() ? numerics::LoadFloat(D, head * D.strides[0] + channel) : 0.0f;
  }
}

template <typename Config>
__device__ __forceinline__ void Rescale(const ChunkFrame& frame, StateSums<Config>& state) {
  if (frame.body != ChunkBody::kKeepFrame) Scale<Config>(state, frame.scale);
  if (frame.body == ChunkBody::kRescaleTwice) Scale<Config>(state, frame.scale_again);
}

// x of a chunk and its factors; x's place in the ring is free again.
template <typename Config>
__device__ __forceinline__ void TakeInput(ScanStorage<Config>& storage, const HeadThread& at,
                                          HeadCursors<Config>& cursors, InputFragments& x,
                                          InputFactors (&factors)[kTokenSteps]) {
  LoadFragments(storage.x.tile[cursors.x.stage][at.head_idx], at, x);
  LoadInputFactors(storage.factors[at.head_idx][cursors.factors.stage].input, at.lane, factors);
  ArriveOfWarp(storage.x_ring.empty[cursors.x.stage]);
  cursors.x.Advance();
}

// One after another they would each take the time that a barrier takes to be asked.
template <typename Config>
__device__ __forceinline__ void WaitForChunk(ScanStorage<Config>& storage, const HeadThread& at,
                                             const HeadCursors<Config>& cursors) {
  bool is_ready;
  do {
    const bool has_factors = IsFull(storage.factor_ring[at.head_idx], cursors.factors);
    const bool has_x = IsFull(storage.x_ring, cursors.x);
    const bool has_group = IsFull(storage.group_ring, cursors.group);
    is_ready = has_factors && has_x && has_group;
  } while (!is_ready);
  __syncwarp();
}

// out of a chunk, and the state after it.
template <typename Config>
__device__ __forceinline__ float ComputeChunk(ScanStorage<Config>& storage, const HeadThread& at,
                                              const float (&D)[2], HeadCursors<Config>& cursors,
                                              StateSums<Config>& state) {
  WaitForChunk(storage, at, cursors);
  const ChunkFactors& factors = storage.factors[at.head_idx][cursors.factors.stage];
  const Chunk<Config> chunk = {
      at,        storage,     factors,     factors.frame, cursors.group.stage,
      cursors.z, cursors.out, {D[0], D[1]}};
  InputFragments x;
  InputFactors input_factors[kTokenSteps];
  TakeInput(storage, at, cursors, x, input_factors);
  InputFragments scaled;
  ScaleInput(x, input_factors, scaled);
  Rescale<Config>(chunk.frame, state);
  // The same in all lanes, which the compiler must know: products cannot be in a divergent branch.
  const auto body = static_cast<ChunkBody>(ptx::Uniform(static_cast<int32_t>(chunk.frame.body)));
  if (body == ChunkBody::kSplitHalves) {
    ComputeInTwoFrames(chunk, x, scaled, state);
  } else if (body == ChunkBody::kExact) {
    ComputeExactly(chunk, x, scaled, state);
  } else {
    ComputeInOneFrame(chunk, x, scaled, state);
  }
  ptx::WgmmaWaitGroup<0>();
  ptx::PinRegisters(state);
  ArriveOfWarp(storage.group_ring.empty[cursors.group.stage]);
  ArriveOfWarp(storage.factor_ring[at.head_idx].empty[cursors.factors.stage]);
  cursors.group.Advance();
  cursors.factors.Advance();
  cursors.out.Advance();
  if constexpr (Config::kHasZ) cursors.z.Advance();
  return chunk.frame.end_scale;
}

// The state through some chunks, without out. The next chunk's x is taken while the products are
// under way. Returns what takes the state out of its frame.
template <typename Config>
__device__ __forceinline__ float PassState(ScanStorage<Config>& storage, const HeadThread& at,
                                           int32_t num_chunks, HeadCursors<Config>& cursors,
                                           StateSums<Config>& state) {
  InputFragments x;
  InputFactors factors[kTokenSteps];
  ChunkFrame frame;
  const auto take_next = [&] {
    WaitFull(storage.factor_ring[at.head_idx], cursors.factors);
    WaitFull(storage.x_ring, cursors.x);
    __syncwarp();
    frame = storage.factors[at.head_idx][cursors.factors.stage].frame;
    TakeInput(storage, at, cursors, x, factors);
    ArriveOfWarp(storage.factor_ring[at.head_idx].empty[cursors.factors.stage]);
    cursors.factors.Advance();
  };
  float end_scale = 1.0f;
  take_next();
#pragma unroll 1
  for (int32_t idx = 0; idx < num_chunks; ++idx) {
    InputFragments scaled;
    ScaleInput(x, factors, scaled);
    Rescale<Config>(frame, state);
    if (frame.body == ChunkBody::kExact) {
      Scale<Config>(state, frame.scale_again);
      Scale<Config>(state, frame.scale_again);
    }
    end_scale = frame.end_scale;
    WaitFull(storage.group_ring, cursors.group);
    __syncwarp();
    ptx::WgmmaFence();
    AddInputToState<Config>(scaled, ptx::SharedAddress(&storage.B.tile[cursors.group.stage][0]),
                            state);
    ptx::WgmmaCommitGroup();
    if (idx + 1 < num_chunks) take_next();
    ptx::WgmmaWaitGroup<0>();
    ptx::PinRegisters(state);
    ArriveOfWarp(storage.group_ring.empty[cursors.group.stage]);
    cursors.group.Advance();
  }
  return end_scale;
}

// The state through a piece's chunks. Returns what takes it out of its frame.
template <typename Config>
__device__ __forceinline__ float PassChunks(ScanStorage<Config>& storage, const HeadThread& at,
                                            const float (&D)[2], int32_t num_chunks,
                                            HeadCursors<Config>& cursors,
                                            StateSums<Config>& state) {
  if constexpr (!Config::kMakesOut) {
    return PassState(storage, at, num_chunks, cursors, state);
  } else {
    float end_scale = 1.0f;
#pragma unroll 1
    for (int32_t idx = 0; idx < num_chunks; ++idx) {
      end_scale = ComputeChunk(storage, at, D, cursors, state);
    }
    return end_scale;
  }
}

template <typename Config>
__device__ __forceinline__ void ScanHead(const ScanParams& params, ScanStorage<Config>& storage,
                                         int head_idx) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  const HeadThread at = {head_idx, thread, thread / kWarpLanes, thread % kWarpLanes};
  HeadCursors<Config> cursors;
  const int32_t num_pieces = NumPieces(params.plan, Config::kPass, WorkerIdx());
#pragma unroll 1
  for (int32_t idx = 0; idx < num_pieces; ++idx) {
    StateSums<Config> state;
    int32_t num_chunks = 0;
    float D[2];
    {
      const Piece piece = GetPiece(params.plan, Config::kPass, WorkerIdx(), idx);
      const BlockHeads heads = HeadsOfTask(params, piece.task_idx);
      num_chunks = piece.end_chunk - piece.first_chunk;
      LoadStateBefore<Config>(params, at, piece, heads, state);
      LoadD(params.D, heads.Head(head_idx), at, D);
    }
    const float end_scale = PassChunks(storage, at, D, num_chunks, cursors, state);
    Scale<Config>(state, end_scale);
    ptx::Forget(idx);  // registers are short while chunks are passed
    const Piece piece = GetPiece(params.plan, Config::kPass, WorkerIdx(), idx);
    StoreStateAfter<Config>(params, at, piece, HeadsOfTask(params, piece.task_idx), state);
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_HEADS_CUH_
