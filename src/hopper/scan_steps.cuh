// The steps of a head on their way to factors: dt as it is processed, and what it decays by.
#ifndef TILESCAN_HOPPER_SCAN_STEPS_CUH_
#define TILESCAN_HOPPER_SCAN_STEPS_CUH_

#include <cstddef>
#include <cstdint>

#include "cuda/elements.cuh"
#include "hopper/ptx/arithmetic.h"
#include "hopper/scan_params.h"
#include "numerics/elements.h"

namespace tilescan::hopper {

inline constexpr float kLog2E = 1.4426950408889634f;
using cuda::kAllLanes;

// A token's decay of 2^-256 or less leaves nothing, in fp32, of what was before. More would only
// take digits from the sums.
inline constexpr float kTotalDecay = -256.0f;

// A lane of a factor warp has the tokens kLaneTokens lane and the next of each chunk.
inline constexpr int kLaneTokens = kChunkSize / kWarpLanes;
static_assert(kLaneTokens == 2);

__device__ __forceinline__ int LaneIdx() { return static_cast<int>(threadIdx.x) % kWarpLanes; }

// What a head's steps are made of.
struct HeadSteps {
  const std::byte* lane_dt;  // of the row's token that is the lane's
  float dt_bias;
  float A;  // times log2(e)
};

__device__ __forceinline__ int64_t TokenBytes(const TensorView& dt) {
  return dt.strides[1] * ElementBytes(dt.dtype);
}

__device__ __forceinline__ HeadSteps StepsOfHead(const ScanParams& params, int32_t batch_idx,
                                                 int32_t head) {
  const TensorView& dt = params.dt;
  HeadSteps steps;
  steps.lane_dt =
      dt.AtBytes(batch_idx * dt.strides[0] + head * dt.strides[2]) + LaneIdx() * TokenBytes(dt);
  steps.dt_bias = params.dt_bias.present()
                      ? numerics::LoadFloat(params.dt_bias, head * params.dt_bias.strides[0])
                      : 0.0f;
  steps.A = numerics::LoadFloat(params.A, head * params.A.strides[0]) * kLog2E;
  return steps;
}

// Values of the lane's tokens in some chunks.
template <typename T, int kChunks>
using LaneValues = T[kChunks][kLaneTokens];

template <int kChunks, typename Visit>
__device__ __forceinline__ void ForEachToken(const Visit& visit) {
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
    for (int idx = 0; idx < kLaneTokens; ++idx) visit(chunk, idx);
  }
}

// The bits of some chunks' dt; nothing is done with them yet, so that they may come late. For now a
// lane has each chunk's tokens 32 idx + lane: tokens side by side are read at once.
template <int kChunks>
__device__ __forceinline__ void LoadDt(const ScanParams& params, const HeadSteps& head,
                                       int32_t first_token, LaneValues<uint32_t, kChunks>& bits) {
  const int64_t token_bytes = TokenBytes(params.dt);
  const std::byte* first = head.lane_dt + first_token * token_bytes;
  const auto load = [&]<typename T>(T) {
    ForEachToken<kChunks>([&](int chunk, int idx) {
      const int token = chunk * kChunkSize + idx * kWarpLanes;
      bits[chunk][idx] = first_token + token + LaneIdx() < params.seqlen
                             ? __ldg(reinterpret_cast<const T*>(first + token * token_bytes))
                             : 0;
    });
  };
  if (params.dt.dtype == DType::kFloat32) {
    load(uint32_t{});
  } else {
    load(uint16_t{});
  }
}

template <int kChunks>
__device__ __forceinline__ void ConvertDt(DType dtype, const LaneValues<uint32_t, kChunks>& bits,
                                          LaneValues<float, kChunks>& dt) {
  const auto convert_from = [&](DType known) {
    ForEachToken<kChunks>([&](int chunk, int idx) {
      dt[chunk][idx] = cuda::ElementToFloat(known, bits[chunk][idx]);
    });
  };
  // Asked for once, not for each token.
  if (dtype == DType::kFloat32) {
    convert_from(DType::kFloat32);
  } else if (dtype == DType::kBFloat16) {
    convert_from(DType::kBFloat16);
  } else {
    convert_from(DType::kFloat16);
  }
}

// log(1 + e^value), within 2^-18 relative where the result is normal; any value. It is
// max(value, 0) + 2 atanh(w / (2 + w)) with w = e^-|value|: unlike the logarithm of a rounded
// 1 + w, exact where w is small.
__device__ __forceinline__ float Softplus(float value) {
  const float w = ptx::Exp2(-kLog2E * fabsf(value));
  const float q = w * ptx::Reciprocal(2.0f + w);
  const float square = q * q;
  float series = fmaf(square, 1.0f / 11.0f, 1.0f / 9.0f);
  series = fmaf(square, series, 1.0f / 7.0f);
  series = fmaf(square, series, 1.0f / 5.0f);
  series = fmaf(square, series, 1.0f / 3.0f);
  series = fmaf(square, series, 1.0f);
  return fmaxf(value, 0.0f) + 2.0f * q * series;
}

// numerics::ProcessedDt() with the softplus above.
template <int kChunks>
__device__ __forceinline__ void ProcessDt(float dt_bias, const numerics::DtOptions& options,
                                          LaneValues<float, kChunks>& dt) {
  ForEachToken<kChunks>([&](int chunk, int idx) { dt[chunk][idx] += dt_bias; });
  if (options.dt_softplus) {
    ForEachToken<kChunks>([&](int chunk, int idx) { dt[chunk][idx] = Softplus(dt[chunk][idx]); });
  }
  ForEachToken<kChunks>([&](int chunk, int idx) {
    // Written so that NaN passes both comparisons.
    float& value = dt[chunk][idx];
    value = value < options.dt_limit_min ? options.dt_limit_min : value;
    value = value > options.dt_limit_max ? options.dt_limit_max : value;
  });
}

template <int kChunks>
struct GroupSteps {
  LaneValues<float, kChunks> dt;        // processed; 0 behind seqlen
  LaneValues<float, kChunks> exponent;  // dt A, of 2; summed up by one of the two below
};

// From a chunk's tokens 32 idx + lane to those that a lane has from here on.
__device__ __forceinline__ void ExchangeTokens(float (&values)[kLaneTokens]) {
  const int first_lane = kLaneTokens * LaneIdx() % kWarpLanes;
  const bool is_first_half = LaneIdx() < kWarpLanes / 2;
  float taken[kLaneTokens];
#pragma unroll
  for (int idx = 0; idx < kLaneTokens; ++idx) {
    const float low = __shfl_sync(kAllLanes, values[0], first_lane + idx);
    const float high = __shfl_sync(kAllLanes, values[1], first_lane + idx);
    taken[idx] = is_first_half ? low : high;
  }
  values[0] = taken[0];
  values[1] = taken[1];
}

template <int kChunks>
__device__ __forceinline__ void MakeSteps(const ScanParams& params, const HeadSteps& head,
                                          int32_t first_token,
                                          const LaneValues<uint32_t, kChunks>& bits,
                                          GroupSteps<kChunks>& steps) {
  ConvertDt<kChunks>(params.dt.dtype, bits, steps.dt);
  ProcessDt<kChunks>(head.dt_bias, params.dt_options, steps.dt);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) ExchangeTokens(steps.dt[chunk]);
  ForEachToken<kChunks>([&](int chunk, int idx) {
    const int32_t token = first_token + chunk * kChunkSize + kLaneTokens * LaneIdx() + idx;
    float& dt = steps.dt[chunk][idx];
    steps.exponent[chunk][idx] = token < params.seqlen ? dt * head.A : 0.0f;
    if (token >= params.seqlen) dt = 0.0f;
  });
}

// Of each chunk one bit: no exponent is NaN or positive. There, a decay of more than all is taken
// for kTotalDecay.
template <int kChunks>
__device__ __forceinline__ uint32_t LimitDecays(GroupSteps<kChunks>& steps) {
  uint32_t decaying_chunks = 0;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    float(&exponent)[kLaneTokens] = steps.exponent[chunk];
    if (!__all_sync(kAllLanes, exponent[0] <= 0.0f && exponent[1] <= 0.0f)) continue;
    decaying_chunks |= 1u << chunk;
    exponent[0] = fmaxf(exponent[0], kTotalDecay);
    exponent[1] = fmaxf(exponent[1], kTotalDecay);
  }
  return decaying_chunks;
}

// Each chunk's exponents from its start to a token, that token's included.
template <int kChunks>
__device__ __forceinline__ void SumFromStart(GroupSteps<kChunks>& steps) {
  float sum[kChunks];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    sum[chunk] = steps.exponent[chunk][0] + steps.exponent[chunk][1];
  }
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const float before = __shfl_up_sync(kAllLanes, sum[chunk], distance);
      if (LaneIdx() >= distance) sum[chunk] += before;
    }
  }
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const float before = __shfl_up_sync(kAllLanes, sum[chunk], 1);
    if (LaneIdx() > 0) steps.exponent[chunk][0] += before;
    steps.exponent[chunk][1] = sum[chunk];
  }
}

// Each chunk's exponents from behind a token to the chunk's end; totals: of whole chunks.
template <int kChunks>
__device__ __forceinline__ void SumToEnd(GroupSteps<kChunks>& steps, float (&totals)[kChunks]) {
  float sum[kChunks];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    sum[chunk] = steps.exponent[chunk][0] + steps.exponent[chunk][1];
  }
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const float after = __shfl_down_sync(kAllLanes, sum[chunk], distance);
      if (LaneIdx() + distance < kWarpLanes) sum[chunk] += after;
    }
  }
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    totals[chunk] = __shfl_sync(kAllLanes, sum[chunk], 0);
    const float after = __shfl_down_sync(kAllLanes, sum[chunk], 1);
    const float end = LaneIdx() + 1 < kWarpLanes ? after : 0.0f;
    steps.exponent[chunk][0] = steps.exponent[chunk][1] + end;
    steps.exponent[chunk][1] = end;
  }
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_STEPS_CUH_
