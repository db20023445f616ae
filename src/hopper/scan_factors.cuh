// The factor warps: one for each row block makes dt of its heads into the factors that its
// warpgroup scales x, out and the state with (ChunkBody says what they are), some chunks ahead.
// All exponents here are of 2: A is multiplied by log2(e) once.
#ifndef TILESCAN_HOPPER_SCAN_FACTORS_CUH_
#define TILESCAN_HOPPER_SCAN_FACTORS_CUH_

#include <cstdint>

#include "hopper/ptx/arithmetic.h"
#include "hopper/ring.cuh"
#include "hopper/scan_params.h"
#include "hopper/scan_steps.cuh"
#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Exponents of factors stay within +-kUsualExponent where a chunk's decay allows it, so that values
// of any usual size neither overflow nor underflow in the sums; beyond, within +-kMostExponent.
// Wider than that, a chunk is split, or computed pair by pair.
inline constexpr float kUsualExponent = 48.0f;
inline constexpr float kMostExponent = 80.0f;
// The state is rescaled twice where 2^difference would be denormal.
inline constexpr float kLeastScaleExponent = -120.0f;

// How a chunk is computed, and with which frames.
struct FrameChoice {
  ChunkFrame chunk;
  float frame;             // of x for the new state; also of out but where the chunk is split
  float first_half_frame;  // kSplitHalves
  float next_frame;        // of the new state
};

// What a head's chunk is like: the frame of the state before it, a of the token in the middle and
// of the last, and whether no a is NaN or above the one before it.
struct ChunkDecay {
  float frame;
  float half_exponent;
  float exponent;
  bool is_decaying;
};

// least: kSplitHalves or kExact where another head of the row block has to have that. Where one can
// do with one frame, halves fit too.
__device__ __forceinline__ FrameChoice ChooseFrame(const ChunkDecay& decay,
                                                   ChunkBody least = ChunkBody::kKeepFrame) {
  const auto [frame, half_exponent, exponent, is_decaying] = decay;
  FrameChoice choice = {{1.0f, 1.0f, ChunkBody::kKeepFrame, 1.0f}, frame, frame, 0.0f};
  ChunkFrame& chunk = choice.chunk;
  constexpr float kMostDecay = -2 * kMostExponent;
  const bool halves_fit = half_exponent >= kMostDecay && exponent - half_exponent >= kMostDecay;
  const bool takes_one_frame = is_decaying && least < ChunkBody::kSplitHalves;
  if (takes_one_frame && frame - exponent <= kUsualExponent) {
    // The factors of x grow from 2^frame on.
  } else if (takes_one_frame && exponent >= kMostDecay) {
    choice.frame = fminf(-kUsualExponent, 0.5f * exponent);
    const float difference = choice.frame - frame;
    const bool is_far = difference < kLeastScaleExponent;
    chunk.body = is_far ? ChunkBody::kRescaleTwice : ChunkBody::kRescale;
    chunk.scale = ptx::Exp2(is_far ? 0.5f * difference : difference);
    chunk.scale_again = chunk.scale;
  } else if (is_decaying && least < ChunkBody::kExact && halves_fit) {
    chunk.body = ChunkBody::kSplitHalves;
    choice.first_half_frame = 0.5f * half_exponent;
    choice.frame = 0.5f * (half_exponent + exponent);
    chunk.scale = ptx::Exp2(0.5f * (choice.first_half_frame - frame));
    chunk.scale_again = ptx::Exp2(choice.frame - choice.first_half_frame);
  } else {
    chunk.body = ChunkBody::kExact;
    choice.frame = exponent;
    chunk.scale = ptx::Exp2(-frame);
    chunk.scale_again = ptx::Exp2(0.5f * exponent);
  }
  choice.next_frame = chunk.body == ChunkBody::kExact ? 0.0f : choice.frame - exponent;
  chunk.end_scale = ptx::Exp2(-choice.next_frame);
  return choice;
}

// The factors of two tokens, each as the sum of two bf16.
__device__ __forceinline__ FactorPairs SplitFactors(float first, float second) {
  FactorPairs pairs;
  pairs.high = ptx::RoundPair(first, second);
  const float first_high = ptx::FirstOf(pairs.high);
  const float second_high = ptx::SecondOf(pairs.high);
  pairs.low = ptx::RoundPair(fabsf(first_high) == INFINITY ? 0.0f : first - first_high,
                             fabsf(second_high) == INFINITY ? 0.0f : second - second_high);
  return pairs;
}

// The place of a lane's tokens.
__device__ __forceinline__ FactorPairs& InputPairs(InputFactors (*steps)[4]) {
  return steps[LaneIdx() / 8][LaneIdx() % 4].pair[LaneIdx() / 4 % 2];
}
__device__ __forceinline__ float2& OutPair(OutFactors (*steps)[4]) {
  return steps[LaneIdx() / 8][LaneIdx() % 4].pair[LaneIdx() / 4 % 2];
}

// u: what x is scaled by, in a frame.
__device__ __forceinline__ FactorPairs FactorsOfInput(float frame,
                                                      const float (&exponent)[kLaneTokens],
                                                      const float (&dt)[kLaneTokens]) {
  return SplitFactors(ptx::Exp2(frame - exponent[0]) * dt[0],
                      ptx::Exp2(frame - exponent[1]) * dt[1]);
}

__device__ __forceinline__ void WriteFactors(const FrameChoice& choice,
                                             const float (&dt)[kLaneTokens],
                                             const float (&exponent)[kLaneTokens],
                                             ChunkFactors& factors) {
  const ChunkBody body = choice.chunk.body;
  const bool is_first_half = LaneIdx() < kWarpLanes / 2;
  InputPairs(factors.input) = FactorsOfInput(choice.frame, exponent, dt);
  if (body == ChunkBody::kExact) {
    reinterpret_cast<float2*>(factors.exponent)[LaneIdx()] = {exponent[0], exponent[1]};
    reinterpret_cast<float2*>(factors.dt)[LaneIdx()] = {dt[0], dt[1]};
  } else {
    float out_frame = choice.frame;
    if (body == ChunkBody::kSplitHalves && is_first_half) {
      out_frame = choice.first_half_frame;
      InputPairs(factors.first_half_input) = FactorsOfInput(out_frame, exponent, dt);
    }
    OutPair(factors.out) =
        make_float2(ptx::Exp2(exponent[0] - out_frame), ptx::Exp2(exponent[1] - out_frame));
  }
  if (LaneIdx() == 0) factors.frame = choice.chunk;
}

// A head of a row block on the way through a piece.
template <typename Config>
struct HeadOnTheWay {
  HeadSteps head;
  LaneValues<uint32_t, Config::kGroupChunks> bits;  // of the next group
  GroupSteps<Config::kGroupChunks> steps;
  float frame = 0.0f;
  float exponent = 0.0f;               // over the piece
  float totals[Config::kGroupChunks];  // of chunks; for states only
  uint32_t decaying_chunks = 0;        // of the group; for out only
};

template <typename Config>
using HeadsOnTheWay = HeadOnTheWay<Config>[Config::kRowHeads];

// What out takes. chunk: of the group.
template <typename Config>
__device__ __forceinline__ void MakeFactorsOfOut(int chunk, HeadsOnTheWay<Config>& heads,
                                                 ChunkFactors (&factors)[Config::kRowHeads]) {
  ChunkDecay decay[Config::kRowHeads];
  auto least = ChunkBody::kKeepFrame;
#pragma unroll
  for (int idx = 0; idx < Config::kRowHeads; ++idx) {
    const float last = heads[idx].steps.exponent[chunk][kLaneTokens - 1];
    decay[idx] = {heads[idx].frame, __shfl_sync(kAllLanes, last, kWarpLanes / 2 - 1),
                  __shfl_sync(kAllLanes, last, kWarpLanes - 1),
                  (heads[idx].decaying_chunks >> chunk & 1u) != 0};
    if constexpr (Config::kRowHeads == 1) continue;
    const FrameChoice own = ChooseFrame(decay[idx]);
    if (own.chunk.body > least) least = own.chunk.body;
  }
#pragma unroll
  for (int idx = 0; idx < Config::kRowHeads; ++idx) {
    const FrameChoice choice = ChooseFrame(decay[idx], least);
    heads[idx].frame = choice.next_frame;
    WriteFactors(choice, heads[idx].steps.dt[chunk], heads[idx].steps.exponent[chunk],
                 factors[idx]);
  }
}

// What the state alone takes: it is in no frame, and decays over each chunk. Where it grows, in two
// steps, so that what is 0 stays 0.
template <typename Config>
__device__ __forceinline__ void MakeFactorsOfState(int chunk, HeadsOnTheWay<Config>& heads,
                                                   ChunkFactors (&factors)[Config::kRowHeads]) {
#pragma unroll
  for (int idx = 0; idx < Config::kRowHeads; ++idx) {
    HeadOnTheWay<Config>& head = heads[idx];
    const float(&exponent)[kLaneTokens] = head.steps.exponent[chunk];
    const float(&dt)[kLaneTokens] = head.steps.dt[chunk];
    const float total = head.totals[chunk];
    head.exponent += total;
    InputPairs(factors[idx].input) =
        SplitFactors(ptx::Exp2(exponent[0]) * dt[0], ptx::Exp2(exponent[1]) * dt[1]);
    if (LaneIdx() > 0) continue;
    const bool decays = total <= 0.0f;
    const float scale = ptx::Exp2(decays ? total : 0.5f * total);
    factors[idx].frame = {scale, scale, decays ? ChunkBody::kRescale : ChunkBody::kRescaleTwice,
                          1.0f};
  }
}

// The steps of a group of chunks, whose dt is there; asks for the next group's.
template <typename Config>
__device__ __forceinline__ void TakeGroup(const ScanParams& params, const Piece& piece,
                                          int32_t first_chunk, HeadOnTheWay<Config>& head) {
  const int32_t first_token = first_chunk * kChunkSize;
  MakeSteps<Config::kGroupChunks>(params, head.head, first_token, head.bits, head.steps);
  if (first_chunk + Config::kGroupChunks < piece.end_chunk) {
    LoadDt<Config::kGroupChunks>(params, head.head, first_token + Config::kGroupChunks * kChunkSize,
                                 head.bits);
  }
  if constexpr (Config::kMakesOut) {
    head.decaying_chunks = LimitDecays(head.steps);
    SumFromStart(head.steps);
  } else {
    SumToEnd(head.steps, head.totals);
  }
}

template <typename Config>
__device__ __forceinline__ void MakeFactors(const ScanParams& params, ScanStorage<Config>& storage,
                                            int block_idx) {
  constexpr int kHeads = Config::kRowHeads;
  constexpr int kGroupChunks = Config::kGroupChunks;
  RingBarriers<Config::kFactorStages>& ring = storage.factor_ring[block_idx];
  RingCursor<Config::kFactorStages> at;
  ForEachPiece<Config>(params, [&](const Piece& piece) {
    const TaskRows rows = RowsOfTask<Config>(params, piece.task_idx);
    const int32_t first_head = rows.Block(block_idx) * kBlockRows / params.headdim;
    HeadsOnTheWay<Config> heads;
#pragma unroll
    for (int idx = 0; idx < kHeads; ++idx) {
      heads[idx].head =
          StepsOfHead(params, rows.batch_idx, HeadOfGroup(params, rows, first_head + idx));
      LoadDt<kGroupChunks>(params, heads[idx].head, piece.first_chunk * kChunkSize,
                           heads[idx].bits);
    }
#pragma unroll 1
    for (int32_t first = piece.first_chunk; first < piece.end_chunk; first += kGroupChunks) {
#pragma unroll
      for (int idx = 0; idx < kHeads; ++idx) TakeGroup(params, piece, first, heads[idx]);
#pragma unroll
      for (int chunk = 0; chunk < kGroupChunks; ++chunk) {
        if (first + chunk >= piece.end_chunk) break;
        WaitEmpty(ring, at);
        ChunkFactors(&factors)[kHeads] = storage.factors[block_idx][at.stage];
        if constexpr (Config::kMakesOut) {
          MakeFactorsOfOut<Config>(chunk, heads, factors);
        } else {
          MakeFactorsOfState<Config>(chunk, heads, factors);
        }
        ArriveOfWarp(ring.full[at.stage]);
        at.Advance();
      }
    }
    if (!Config::kMakesOut && LaneIdx() == 0) {
#pragma unroll
      for (int idx = 0; idx < kHeads; ++idx) {
        const int32_t slot_block = piece.state_out * Config::kRowBlocks + block_idx;
        params.slot_roots[slot_block * kHeads + idx] = ptx::Exp2(0.5f * heads[idx].exponent);
      }
    }
  });
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_FACTORS_CUH_
