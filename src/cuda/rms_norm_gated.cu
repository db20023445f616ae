// The gated RMSNorm of one group of channels of one token:
//
//   norm(y) = y / sqrt(mean of y^2 + eps) * weight + bias ;  out = norm(x silu(z)), or norm(x)
//   silu(z)
//
// x z out (batch, seqlen, dim), weight bias (dim). Bound by reading x and z and writing out, once
// each: a group stays in the registers of some threads, a warp or a block, from the first read to
// the last write. Each thread holds kPasses pieces of it, a group's threads apart; all that they
// read is asked for before anything is looked at. Sums go from threads to warps to the group in one
// order.
#include "cuda/rms_norm_gated.h"

#include <algorithm>
#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/norm_pieces.cuh"
#include "cuda/silu.cuh"
#include "cuda/warp.h"

namespace tilescan::cuda {
namespace {

constexpr const char* kName = "rms_norm_gated_forward";
constexpr int kLongThreads = 1024;
constexpr int kMostWarps = kLongThreads / kWarpLanes;
constexpr int64_t kMostBlocks = INT32_MAX;

// Which group, and where its channels begin.
struct NormGroup {
  int64_t batch_idx, token, first_channel;
  bool exists;

  __device__ NormGroup(const RmsNormGatedForwardProblem& problem, int64_t item) {
    const int64_t groups_per_token = problem.sizes.dim / problem.sizes.group_size;
    const int64_t token_idx = item / groups_per_token;
    first_channel = item % groups_per_token * problem.sizes.group_size;
    batch_idx = token_idx / problem.sizes.seqlen;
    token = token_idx % problem.sizes.seqlen;
    exists = batch_idx < problem.sizes.batch;
  }
  // Of an element of the group.
  __device__ int64_t Offset(const TensorView& view, int64_t idx) const {
    return batch_idx * view.strides[0] + token * view.strides[1] +
           (first_channel + idx) * view.strides[2];
  }
};

// How precise silu must be: as the more precise of what it is made from and goes to.
__device__ bool IsExact(const RmsNormGatedForwardOperands& operands) {
  return operands.x.dtype == DType::kFloat32 || operands.out.dtype == DType::kFloat32;
}

// The sum over the threads of a group, threadIdx.x; groups of several warps have the block, or
// share it with others along threadIdx.y. Every thread of the block takes part.
__device__ float SumOverGroup(float sum) {
  __shared__ float warp_sums[kMostWarps];
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  const int warps_per_group = static_cast<int>(blockDim.x) / kWarpLanes;
  if (warps_per_group == 1) return sum;
  float* of_group = warp_sums + threadIdx.y * warps_per_group;
  if (threadIdx.x % kWarpLanes == 0) of_group[threadIdx.x / kWarpLanes] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int idx = 0; idx < warps_per_group; ++idx) sum += of_group[idx];
  return sum;
}

__device__ float ScaleOf(const RmsNormGatedForwardProblem& problem, float sum_of_squares) {
  const float mean = sum_of_squares / static_cast<float>(problem.sizes.group_size);
  return 1.0f / sqrtf(mean + problem.operands.eps);
}

// values times silu(z).
template <typename Piece>
__device__ void Gate(const RmsNormGatedForwardOperands& operands,
                     const typename Piece::Bits& z_bits, float (&values)[Piece::kSize]) {
  const bool is_exact = IsExact(operands);
  float z[Piece::kSize];
  Piece::ToFloats(operands.z, z_bits, z);
#pragma unroll
  for (int at = 0; at < Piece::kSize; ++at) values[at] *= SiluOf(z[at], is_exact);
}

// out of a piece, from the values whose squares were summed.
template <typename Piece>
__device__ void StorePiece(const RmsNormGatedForwardProblem& problem, const NormGroup& group,
                           int64_t first, int64_t count, float scale,
                           const typename Piece::Bits& z_bits, bool has_weight_vectors,
                           float (&values)[Piece::kSize]) {
  const RmsNormGatedForwardOperands& operands = problem.operands;
  float weight[Piece::kSize];
  float bias[Piece::kSize];
  const int64_t channel = group.first_channel + first;
  LoadChannelPiece(operands.weight, channel, count, has_weight_vectors, 1.0f, weight);
  LoadChannelPiece(operands.bias, channel, count, has_weight_vectors, 0.0f, bias);
#pragma unroll
  for (int at = 0; at < Piece::kSize; ++at) {
    values[at] = fmaf(values[at] * scale, weight[at], bias[at]);
  }
  if (operands.z.present() && operands.norm_before_gate) Gate<Piece>(operands, z_bits, values);
  Piece::Store(values, operands.out, group.Offset(operands.out, first), count);
}

// The most threads that a group has, for the registers that each may use.
template <int kPasses>
constexpr int kMostThreads = kPasses == 1   ? 128
                             : kPasses == 2 ? 256
                                            : 512;

// Threads: (of a group, groups). has_weight_vectors: weight and bias are whole vectors.
template <typename Piece, int kPasses>
__global__ void __launch_bounds__(kMostThreads<kPasses>, 1)
    NormKernel(const __grid_constant__ RmsNormGatedForwardProblem problem,
               bool has_weight_vectors) {
  constexpr int kSize = Piece::kSize;
  const RmsNormGatedForwardOperands& operands = problem.operands;
  const NormGroup group(problem, int64_t{blockIdx.x} * blockDim.y + threadIdx.y);
  const int size = group.exists ? static_cast<int>(problem.sizes.group_size) : 0;
  const int step = static_cast<int>(blockDim.x) * kSize;
  const int thread_first = static_cast<int>(threadIdx.x) * kSize;
  typename Piece::Bits x_bits[kPasses];
  typename Piece::Bits z_bits[kPasses];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int first = thread_first + pass * step;
    if (first >= size) continue;
    x_bits[pass] = Piece::Load(operands.x, group.Offset(operands.x, first), size - first);
    if (operands.z.present()) {
      z_bits[pass] = Piece::Load(operands.z, group.Offset(operands.z, first), size - first);
    }
  }
  const bool gates_before = operands.z.present() && !operands.norm_before_gate;
  float values[kPasses][kSize];
  float sum = 0.0f;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    if (thread_first + pass * step >= size) continue;
    Piece::ToFloats(operands.x, x_bits[pass], values[pass]);
    if (gates_before) Gate<Piece>(operands, z_bits[pass], values[pass]);
#pragma unroll
    for (int at = 0; at < kSize; ++at) sum = fmaf(values[pass][at], values[pass][at], sum);
  }
  const float scale = ScaleOf(problem, SumOverGroup(sum));
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int first = thread_first + pass * step;
    if (first >= size) continue;
    StorePiece<Piece>(problem, group, first, size - first, scale, z_bits[pass], has_weight_vectors,
                      values[pass]);
  }
}

// Groups beyond what registers hold: x and z are read twice, element by element.
__global__ void __launch_bounds__(kLongThreads)
    NormLongKernel(const __grid_constant__ RmsNormGatedForwardProblem problem) {
  using Piece = NormElements<1>;
  const RmsNormGatedForwardOperands& operands = problem.operands;
  const NormGroup group(problem, blockIdx.x);
  const int64_t size = problem.sizes.group_size;
  const bool gates_before = operands.z.present() && !operands.norm_before_gate;
  float value[1];
  Piece::Bits z_bits = {};
  const auto load = [&](int64_t idx) {
    const Piece::Bits x_bits = Piece::Load(operands.x, group.Offset(operands.x, idx), 1);
    if (operands.z.present()) {
      z_bits = Piece::Load(operands.z, group.Offset(operands.z, idx), 1);
    }
    Piece::ToFloats(operands.x, x_bits, value);
    if (gates_before) Gate<Piece>(operands, z_bits, value);
  };
  float sum = 0.0f;
  for (int64_t idx = threadIdx.x; idx < size; idx += kLongThreads) {
    load(idx);
    sum = fmaf(value[0], value[0], sum);
  }
  const float scale = ScaleOf(problem, SumOverGroup(sum));
  for (int64_t idx = threadIdx.x; idx < size; idx += kLongThreads) {
    load(idx);
    StorePiece<Piece>(problem, group, idx, 1, scale, z_bits, false, value);
  }
}

// ---- launch ----

// How a group is held. It depends on its size and x's dtype alone, as the sums' bits do.
struct NormShape {
  int num_passes;   // 0: NormLongKernel
  int num_threads;  // of a group
  int num_groups;   // of a block
};

NormShape ShapeFor(const RmsNormGatedForwardProblem& problem) {
  constexpr int64_t kBlockThreads = 128;
  const int64_t piece = problem.operands.x.dtype == DType::kFloat32 ? 4 : 8;
  const int64_t num_pieces = (problem.sizes.group_size + piece - 1) / piece;
  if (num_pieces > 4 * kMostThreads<4>) return {0, kLongThreads, 1};
  const int num_passes = num_pieces <= kMostThreads<1>       ? 1
                         : num_pieces <= 2 * kMostThreads<2> ? 2
                                                             : 4;
  const int64_t per_pass = (num_pieces + num_passes - 1) / num_passes;
  const int64_t num_threads = (per_pass + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  const int64_t num_groups = std::max<int64_t>(kBlockThreads / num_threads, 1);
  return {num_passes, static_cast<int>(num_threads), static_cast<int>(num_groups)};
}

int64_t CountGroups(const RmsNormGatedForwardProblem& problem) {
  const RmsNormGatedForwardSizes& sizes = problem.sizes;
  return sizes.batch * sizes.seqlen * (sizes.dim / sizes.group_size);
}

// Whether each group begins and ends with a vector.
bool HasGroupVectors(const RmsNormGatedForwardProblem& problem) {
  const RmsNormGatedForwardOperands& operands = problem.operands;
  const auto has_vectors = [&](const TensorView& view) {
    if (!view.present()) return true;
    const int64_t size = static_cast<int64_t>(kVectorAlignment) / ElementBytes(view.dtype);
    return view.dtype == operands.x.dtype && HasVectors(view, 2) &&
           problem.sizes.group_size % size == 0;
  };
  return has_vectors(operands.x) && has_vectors(operands.z) && has_vectors(operands.out);
}

bool HasWeightVectors(const RmsNormGatedForwardProblem& problem) {
  const auto has_vectors = [](const TensorView& view) {
    return !view.present() || HasVectors(view, 0);
  };
  return has_vectors(problem.operands.weight) && has_vectors(problem.operands.bias);
}

template <typename Piece>
Status LoadPasses() {
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, NormKernel<Piece, 1>));
  TILESCAN_RETURN_IF_ERROR(LoadKernel(kName, NormKernel<Piece, 2>));
  return LoadKernel(kName, NormKernel<Piece, 4>);
}

struct EnqueueNorm {
  const RmsNormGatedForwardProblem& problem;
  NormShape shape;
  cudaStream_t stream;

  template <typename Piece>
  Status Passes(bool has_vectors) const {
    if (shape.num_passes == 1) return Launch(NormKernel<Piece, 1>, has_vectors);
    if (shape.num_passes == 2) return Launch(NormKernel<Piece, 2>, has_vectors);
    return Launch(NormKernel<Piece, 4>, has_vectors);
  }

  template <typename... Params, typename... Args>
  Status Launch(void (*kernel)(Params...), const Args&... args) const {
    const int64_t num_blocks = (CountGroups(problem) + shape.num_groups - 1) / shape.num_groups;
    const LaunchShape launch = {.grid = dim3(static_cast<unsigned>(num_blocks)),
                                .num_threads = static_cast<unsigned>(shape.num_threads),
                                .stream = stream,
                                .num_threads_y = static_cast<unsigned>(shape.num_groups)};
    return LaunchKernel(kName, kernel, launch, problem, args...);
  }
};

}  // namespace

std::string ReasonAgainstRmsNormGated(const RmsNormGatedForwardProblem& problem) {
  return CountGroups(problem) > kMostBlocks ? "there are more than 2^31 - 1 groups" : "";
}

Status PrepareRmsNormGatedForward() {
  TILESCAN_RETURN_IF_ERROR(LoadPasses<NormVector<float>>());
  TILESCAN_RETURN_IF_ERROR(LoadPasses<NormVector<__nv_bfloat16>>());
  TILESCAN_RETURN_IF_ERROR(LoadPasses<NormVector<__half>>());
  TILESCAN_RETURN_IF_ERROR(LoadPasses<NormElements<4>>());
  TILESCAN_RETURN_IF_ERROR(LoadPasses<NormElements<8>>());
  return LoadKernel(kName, NormLongKernel);
}

Status RunRmsNormGatedForward(const RmsNormGatedForwardProblem& problem, cudaStream_t stream) {
  if (CountGroups(problem) == 0) return Status();
  const EnqueueNorm enqueue = {problem, ShapeFor(problem), stream};
  if (enqueue.shape.num_passes == 0) return enqueue.Launch(NormLongKernel);
  const DType dtype = problem.operands.x.dtype;
  if (!HasGroupVectors(problem)) {
    return dtype == DType::kFloat32 ? enqueue.Passes<NormElements<4>>(false)
                                    : enqueue.Passes<NormElements<8>>(false);
  }
  const bool has_vectors = HasWeightVectors(problem);
  if (dtype == DType::kFloat32) return enqueue.Passes<NormVector<float>>(has_vectors);
  if (dtype == DType::kBFloat16) return enqueue.Passes<NormVector<__nv_bfloat16>>(has_vectors);
  return enqueue.Passes<NormVector<__half>>(has_vectors);
}

}  // namespace tilescan::cuda
