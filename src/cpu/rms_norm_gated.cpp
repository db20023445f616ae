#include "cpu/rms_norm_gated.h"

#include <algorithm>

#include "cpu/thread_pool.h"

namespace tilescan::cpu {
namespace {

int64_t ThreadBytes(const RmsNormGatedForwardSizes& sizes) {
  Carver counter;
  NormBuffers::Take(counter, sizes.dim, sizes.group_size);
  return static_cast<int64_t>(counter.used_bytes());
}

// Weights of all channels; `otherwise` where the operand is absent.
void LoadChannels(const TensorView& view, const NormGroupSteps& steps, int64_t dim, float otherwise,
                  float* to) {
  if (!view.present()) {
    std::fill_n(to, dim, otherwise);
    return;
  }
  steps.load_row({view.AtBytes(0), view.dtype, 0, view.strides[0]}, dim, to);
}

// A group's channels of one token of (batch, seqlen, dim); no data if the operand is absent.
Rows GroupRow(const TensorView& view, int64_t batch_idx, int64_t token, int64_t first_channel) {
  Rows rows;
  if (!view.present()) return rows;
  rows.data = view.AtBytes(batch_idx * view.strides[0] + token * view.strides[1] +
                           first_channel * view.strides[2]);
  rows.dtype = view.dtype;
  rows.element_stride = view.strides[2];
  return rows;
}

// Of elements of x, some 2 ns each.
constexpr int64_t kLeastShare = 1 << 14;

}  // namespace

size_t RmsNormGatedWorkspaceBytes(const RmsNormGatedForwardProblem& problem,
                                  const Schedule& schedule) {
  Carver counter;
  counter.Take<std::byte>(ThreadBytes(problem.sizes), schedule.num_threads);
  return counter.required_bytes();
}

void RmsNormGatedForward(const RmsNormGatedForwardProblem& problem, const NormGroupSteps& steps,
                         const Launch& launch) {
  const RmsNormGatedForwardSizes& sizes = problem.sizes;
  const RmsNormGatedForwardOperands& operands = problem.operands;
  const int32_t num_threads = NumWorthwhile(sizes.batch * sizes.seqlen * sizes.dim, kLeastShare,
                                            launch.schedule.num_threads);
  const int64_t groups_per_token = sizes.dim / sizes.group_size;
  const int64_t num_groups = sizes.batch * sizes.seqlen * groups_per_token;
  const NormRule rule = {sizes.group_size, operands.eps, operands.norm_before_gate};
  ParallelFor(launch.schedule.executor, num_threads, [&](int32_t thread_idx) {
    const int64_t first = num_groups * thread_idx / num_threads;
    const int64_t end = num_groups * (thread_idx + 1) / num_threads;
    if (first == end) return;
    Carver carver(launch.workspace);
    carver.Take<std::byte>(ThreadBytes(sizes) * thread_idx);
    const NormBuffers buffers = NormBuffers::Take(carver, sizes.dim, sizes.group_size);
    LoadChannels(operands.weight, steps, sizes.dim, 1.0f, buffers.weight);
    LoadChannels(operands.bias, steps, sizes.dim, 0.0f, buffers.bias);
    for (int64_t idx = first; idx < end; ++idx) {
      const int64_t token = idx / groups_per_token;
      const int64_t first_channel = idx % groups_per_token * sizes.group_size;
      const auto row = [&](const TensorView& view) {
        return GroupRow(view, token / sizes.seqlen, token % sizes.seqlen, first_channel);
      };
      steps.norm_group(rule, buffers, first_channel, row(operands.x), row(operands.z),
                       row(operands.out));
    }
  });
}

}  // namespace tilescan::cpu
