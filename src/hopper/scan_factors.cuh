// The factor warps: one for each row block makes dt of its heads into the factors that its
// warpgroup scales x, out and the state with (ChunkBody says what they are), some chunks ahead.
// All exponents here are of 2: A is multiplied by log2(e) once.
#ifndef TILESCAN_HOPPER_SCAN_FACTORS_CUH_
#define TILESCAN_HOPPER_SCAN_FACTORS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "hopper/ptx/arithmetic.h"
#include "hopper/ring.cuh"
#include "hopper/scan_params.h"
#include "hopper/scan_storage.h"
#include "numerics/elements.h"

namespace tilescan::hopper {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Exponents of factors stay within +-kUsualExponent where a chunk's decay allows it, so that values
// of any usual size neither overflow nor underflow in the sums; beyond, within +-kMostExponent.
// Wider than that, a chunk is split, or computed pair by pair.
inline constexpr float kUsualExponent = 48.0f;
inline constexpr float kMostExponent = 80.0f;
// The state is rescaled twice where 2^difference would be denormal.
inline constexpr float kLeastScaleExponent = -120.0f;
// A token's decay of 2^-256 or less leaves nothing, in fp32, of what was before. More would only
// take digits from the sums.
inline constexpr float kTotalDecay = -256.0f;

// What a head's steps are made of.
struct HeadSteps {
  const std::byte* dt;
  int64_t token_bytes;
  DType dtype;
  float dt_bias;
  float A;  // times log2(e)
};

__device__ __forceinline__ HeadSteps StepsOfHead(const ScanParams& params, int32_t batch_idx,
                                                 int32_t head) {
  HeadSteps steps;
  steps.dt = params.dt.AtBytes(batch_idx * params.dt.strides[0] + head * params.dt.strides[2]);
  steps.dtype = params.dt.dtype;
  steps.token_bytes = params.dt.strides[1] * ElementBytes(params.dt.dtype);
  steps.dt_bias = params.dt_bias.present()
                      ? numerics::LoadFloat(params.dt_bias, head * params.dt_bias.strides[0])
                      : 0.0f;
  steps.A = numerics::LoadFloat(params.A, head * params.A.strides[0]) * kLog2E;
  return steps;
}

// The bits of a group's dt; nothing is done with them yet, so that they may come late.
template <int kRows>
__device__ __forceinline__ void LoadDt(const HeadSteps& steps, int32_t first_token, int32_t seqlen,
                                       uint32_t (&bits)[kRows]) {
  const int32_t lane_token = first_token + static_cast<int32_t>(threadIdx.x % kWarpLanes);
  const bool is_float32 = steps.dtype == DType::kFloat32;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int32_t token = lane_token + row * kWarpLanes;
    const std::byte* address = steps.dt + token * steps.token_bytes;
    bits[row] = 0;
    if (token >= seqlen) continue;
    bits[row] = is_float32 ? __ldg(reinterpret_cast<const uint32_t*>(address))
                           : __ldg(reinterpret_cast<const uint16_t*>(address));
  }
}

__device__ __forceinline__ float DtOfBits(uint32_t bits, DType dtype) {
  if (dtype == DType::kFloat32) return __uint_as_float(bits);
  if (dtype == DType::kBFloat16) return __uint_as_float(bits << 16);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

// log(1 + e^value), within 2^-18 relative where the result is normal; any value. It is
// max(value, 0) + 2 atanh(w / (2 + w)) with w = e^-|value|: unlike the logarithm of a rounded
// 1 + w, exact where w is small.
__device__ __forceinline__ float Softplus(float value) {
  const float w = ptx::Exp2(-kLog2E * fabsf(value));
  const float q = __fdividef(w, 2.0f + w);
  const float square = q * q;
  float series = fmaf(square, 1.0f / 11.0f, 1.0f / 9.0f);
  series = fmaf(square, series, 1.0f / 7.0f);
  series = fmaf(square, series, 1.0f / 5.0f);
  series = fmaf(square, series, 1.0f / 3.0f);
  series = fmaf(square, series, 1.0f);
  return fmaxf(value, 0.0f) + 2.0f * q * series;
}

// numerics::ProcessedDt() with the softplus above.
__device__ __forceinline__ float ProcessDt(float dt, float dt_bias,
                                           const numerics::DtOptions& options) {
  float value = dt + dt_bias;
  if (options.dt_softplus) value = Softplus(value);
  // Written so that NaN passes both comparisons.
  if (value < options.dt_limit_min) return options.dt_limit_min;
  if (value > options.dt_limit_max) return options.dt_limit_max;
  return value;
}

template <int kRows>
struct GroupSteps {
  float dt[kRows];        // processed; 0 behind seqlen
  float exponent[kRows];  // a: cumulative dt A, from each chunk's start
  // Of each chunk, one bit: no exponent is NaN, or above the one before it.
  uint32_t decaying_chunks;
};

// The exponents of single tokens, summed up along each chunk.
template <int kRows>
__device__ __forceinline__ void SumExponents(float (&exponent)[kRows]) {
  const int lane = threadIdx.x % kWarpLanes;
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float before = __shfl_up_sync(kAllLanes, exponent[row], distance);
      if (lane >= distance) exponent[row] += before;
    }
  }
  static_assert(kChunkRows == 2);
#pragma unroll
  for (int row = 0; row < kRows; row += kChunkRows) {
    exponent[row + 1] += __shfl_sync(kAllLanes, exponent[row], kWarpLanes - 1);
  }
}

template <int kRows>
__device__ __forceinline__ void MakeSteps(const HeadSteps& head, const numerics::DtOptions& options,
                                          const uint32_t (&bits)[kRows], int32_t first_token,
                                          int32_t seqlen, GroupSteps<kRows>& steps) {
  const int32_t lane_token = first_token + static_cast<int32_t>(threadIdx.x % kWarpLanes);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const bool exists = lane_token + row * kWarpLanes < seqlen;
    const float dt = ProcessDt(DtOfBits(bits[row], head.dtype), head.dt_bias, options);
    steps.dt[row] = exists ? dt : 0.0f;
    steps.exponent[row] = exists ? dt * head.A : 0.0f;
  }
  steps.decaying_chunks = 0;
#pragma unroll
  for (int chunk = 0; chunk < kRows / kChunkRows; ++chunk) {
    float& first = steps.exponent[chunk * kChunkRows];
    float& second = steps.exponent[chunk * kChunkRows + 1];
    if (!__all_sync(kAllLanes, first <= 0.0f && second <= 0.0f)) continue;
    steps.decaying_chunks |= 1u << chunk;
    first = fmaxf(first, kTotalDecay);
    second = fmaxf(second, kTotalDecay);
  }
  SumExponents(steps.exponent);
}

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
template <bool kMakesOut>
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
  } else if (kMakesOut && is_decaying && least < ChunkBody::kExact && halves_fit) {
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

// Puts value at token's place in its step, as the sum of two bf16.
__device__ __forceinline__ void PutInputFactor(InputFactors (*steps)[4], int token, float value) {
  FactorPairs& pair = steps[token / 16][token / 2 % 4].pair[token / 8 % 2];
  const __nv_bfloat16 high = __float2bfloat16_rn(value);
  const float rest = value - __bfloat162float(high);
  const bool is_infinite = fabsf(__bfloat162float(high)) == INFINITY;
  reinterpret_cast<__nv_bfloat16*>(&pair.high)[token % 2] = high;
  reinterpret_cast<__nv_bfloat16*>(&pair.low)[token % 2] =
      __float2bfloat16_rn(is_infinite ? 0.0f : rest);
}

template <bool kMakesOut>
__device__ __forceinline__ void WriteFactors(const FrameChoice& choice, const float* dt,
                                             const float* exponent, ChunkFactors& factors) {
  const int lane = threadIdx.x % kWarpLanes;
  const bool is_exact = choice.chunk.body == ChunkBody::kExact;
  const bool is_split = choice.chunk.body == ChunkBody::kSplitHalves;
#pragma unroll
  for (int row = 0; row < kChunkRows; ++row) {
    const int token = row * kWarpLanes + lane;
    const bool is_first_half = row == 0;
    PutInputFactor(factors.input, token, ptx::Exp2(choice.frame - exponent[row]) * dt[row]);
    if constexpr (!kMakesOut) continue;
    if (is_exact) {
      factors.exponent[token] = exponent[row];
      factors.dt[token] = dt[row];
      continue;
    }
    const float out_frame = is_first_half ? choice.first_half_frame : choice.frame;
    factors.out[token / 16][token / 2 % 4].factor[token / 8 % 2 * 2 + token % 2] =
        ptx::Exp2(exponent[row] - (is_split ? out_frame : choice.frame));
    if (is_split && is_first_half) {
      PutInputFactor(factors.first_half_input, token,
                     ptx::Exp2(choice.first_half_frame - exponent[row]) * dt[row]);
    }
  }
  if (lane == 0) factors.frame = choice.chunk;
}

// The heads of a row block on the way through a piece.
template <typename Config>
struct HeadsOnTheWay {
  HeadSteps head[Config::kRowHeads];
  uint32_t bits[Config::kRowHeads][Config::kGroupRows];  // of the next group's dt
  float frame[Config::kRowHeads] = {};
  float exponent[Config::kRowHeads] = {};  // over the piece
};

// chunk: of the group.
template <typename Config>
__device__ __forceinline__ void MakeChunkFactors(
    const GroupSteps<Config::kGroupRows> (&steps)[Config::kRowHeads], int chunk,
    HeadsOnTheWay<Config>& heads, ChunkFactors (&factors)[Config::kRowHeads]) {
  constexpr int kHeads = Config::kRowHeads;
  ChunkDecay decay[kHeads];
  auto least = ChunkBody::kKeepFrame;
#pragma unroll
  for (int idx = 0; idx < kHeads; ++idx) {
    const float* exponent = steps[idx].exponent + chunk * kChunkRows;
    decay[idx] = {heads.frame[idx], __shfl_sync(kAllLanes, exponent[0], kWarpLanes - 1),
                  __shfl_sync(kAllLanes, exponent[1], kWarpLanes - 1),
                  (steps[idx].decaying_chunks >> chunk & 1u) != 0};
    // States alone are made by the same products in any case.
    if constexpr (kHeads == 1 || !Config::kMakesOut) continue;
    const FrameChoice own = ChooseFrame<Config::kMakesOut>(decay[idx]);
    if (own.chunk.body > least) least = own.chunk.body;
  }
#pragma unroll
  for (int idx = 0; idx < kHeads; ++idx) {
    const FrameChoice choice = ChooseFrame<Config::kMakesOut>(decay[idx], least);
    heads.frame[idx] = choice.next_frame;
    heads.exponent[idx] += decay[idx].exponent;
    WriteFactors<Config::kMakesOut>(choice, steps[idx].dt + chunk * kChunkRows,
                                    steps[idx].exponent + chunk * kChunkRows, factors[idx]);
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
      heads.head[idx] =
          StepsOfHead(params, rows.batch_idx, HeadOfGroup(params, rows, first_head + idx));
      LoadDt(heads.head[idx], piece.first_chunk * kChunkSize, params.seqlen, heads.bits[idx]);
    }
#pragma unroll 1
    for (int32_t first = piece.first_chunk; first < piece.end_chunk; first += kGroupChunks) {
      const int32_t first_token = first * kChunkSize;
      GroupSteps<Config::kGroupRows> steps[kHeads];
#pragma unroll
      for (int idx = 0; idx < kHeads; ++idx) {
        MakeSteps(heads.head[idx], params.dt_options, heads.bits[idx], first_token, params.seqlen,
                  steps[idx]);
        if (first + kGroupChunks < piece.end_chunk) {
          LoadDt(heads.head[idx], first_token + kGroupChunks * kChunkSize, params.seqlen,
                 heads.bits[idx]);
        }
      }
#pragma unroll
      for (int chunk = 0; chunk < kGroupChunks; ++chunk) {
        if (first + chunk >= piece.end_chunk) break;
        WaitEmpty(ring, at);
        MakeChunkFactors<Config>(steps, chunk, heads, storage.factors[block_idx][at.stage]);
        ArriveOfWarp(ring.full[at.stage]);
        at.Advance();
      }
    }
    if (!Config::kMakesOut && threadIdx.x % kWarpLanes == 0) {
#pragma unroll
      for (int idx = 0; idx < kHeads; ++idx) {
        const int32_t slot_block = piece.state_out * Config::kRowBlocks + block_idx;
        params.slot_decays[slot_block * kHeads + idx] = ptx::Exp2(heads.exponent[idx]);
      }
    }
  });
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_FACTORS_CUH_
