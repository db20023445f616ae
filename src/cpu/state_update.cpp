#include "cpu/state_update.h"

#include <algorithm>
#include <cstring>

#include "core/sequences.h"
#include "cpu/thread_pool.h"
#include "numerics/elements.h"

namespace tilescan::cpu {
namespace {

StepShape ShapeOf(const StateUpdateProblem& problem, const StateStepSteps& steps) {
  const StateUpdateSizes& sizes = problem.sizes;
  return steps.shape(sizes.num_tokens, sizes.nheads, sizes.headdim, sizes.dstate);
}

// Rows along the tokens of (batch, T, nheads or ngroups, headdim or dstate).
Rows TokenRows(const TensorView& view, int64_t batch_idx, int64_t idx) {
  Rows rows;
  if (!view.present()) return rows;
  rows.data = view.AtBytes(batch_idx * view.strides[0] + idx * view.strides[2]);
  rows.dtype = view.dtype;
  rows.row_stride = view.strides[1];
  rows.element_stride = view.strides[3];
  return rows;
}

Rows OneRow(const TensorView& view, int64_t offset, int64_t element_stride) {
  return {view.AtBytes(offset), view.dtype, 0, element_stride};
}

// One thread's share of the heads of all batch rows.
class Worker {
 public:
  Worker(const StateUpdateProblem& problem, const StateStepSteps& steps, const StepShape& shape,
         const StepBuffers& buffers)
      : problem_(problem), steps_(steps), shape_(shape), buffers_(buffers) {
    const StateUpdateOperands& operands = problem.operands;
    steps.load_row(OneRow(operands.A, 0, operands.A.strides[0]), shape.nheads, shape.padded_nheads,
                   buffers.A);
    if (operands.dt_bias.present()) {
      steps.load_row(OneRow(operands.dt_bias, 0, operands.dt_bias.strides[0]), shape.nheads,
                     shape.padded_nheads, buffers.dt_bias);
    } else {
      std::fill(buffers.dt_bias, buffers.dt_bias + shape.padded_nheads, 0.0f);
    }
  }

  void UpdateHeads(int64_t batch_idx, int64_t first_head, int64_t end_head) {
    const StateUpdateOperands& operands = problem_.operands;
    const TensorView& slots = operands.state_batch_indices;
    const int64_t slot = slots.present() ? IndexAt(slots, batch_idx) : batch_idx;
    if (slot < 0) {
      for (int64_t head_idx = first_head; head_idx < end_head; ++head_idx) {
        ZeroOut(batch_idx, head_idx);
      }
      return;
    }
    const StepRule rule = {operands.dt_softplus, operands.dt_limit_min, operands.dt_limit_max};
    const Rows dt = {operands.dt.AtBytes(batch_idx * operands.dt.strides[0]), operands.dt.dtype,
                     operands.dt.strides[1], operands.dt.strides[2]};
    steps_.prepare_dt(shape_, dt, rule, first_head, end_head, buffers_);
    const int64_t heads_per_group = problem_.sizes.nheads / problem_.sizes.ngroups;
    int64_t loaded_group = -1;
    for (int64_t head_idx = first_head; head_idx < end_head; ++head_idx) {
      const int64_t group_idx = head_idx / heads_per_group;
      if (group_idx != loaded_group) LoadGroup(batch_idx, group_idx);
      loaded_group = group_idx;
      UpdateHead(batch_idx, head_idx, slot);
    }
  }

 private:
  void LoadGroup(int64_t batch_idx, int64_t group_idx) {
    const Rows B = TokenRows(problem_.operands.B, batch_idx, group_idx);
    const Rows C = TokenRows(problem_.operands.C, batch_idx, group_idx);
    for (int64_t token = 0; token < shape_.num_tokens; ++token) {
      const int64_t offset = token * shape_.padded_dstate;
      LoadTokenRow(B, token, buffers_.B + offset);
      LoadTokenRow(C, token, buffers_.C + offset);
    }
  }

  void LoadTokenRow(const Rows& rows, int64_t token, float* to) {
    Rows row = rows;
    row.data = rows.At(token);
    steps_.load_row(row, shape_.dstate, shape_.padded_dstate, to);
  }

  // Whether the head has a D; if so, it is in D_row.
  bool LoadD(int64_t head_idx) {
    const TensorView& D = problem_.operands.D;
    if (!D.present()) return false;
    const int64_t element_stride = D.ndim == 2 ? D.strides[1] : 0;
    steps_.load_row(OneRow(D, head_idx * D.strides[0], element_stride), shape_.headdim,
                    shape_.padded_headdim, buffers_.D_row);
    return true;
  }

  void UpdateHead(int64_t batch_idx, int64_t head_idx, int64_t slot) {
    const StateUpdateOperands& operands = problem_.operands;
    const TensorView& state = operands.state;
    StepHead head;
    head.state = {state.AtBytes(slot * state.strides[0] + head_idx * state.strides[1]), state.dtype,
                  state.strides[2], state.strides[3]};
    head.x = TokenRows(operands.x, batch_idx, head_idx);
    head.z = TokenRows(operands.z, batch_idx, head_idx);
    head.out = TokenRows(operands.out, batch_idx, head_idx);
    head.head_idx = head_idx;
    head.has_D = LoadD(head_idx);
    head.is_fresh = operands.fresh.present() &&
                    *operands.fresh.At<const uint8_t>(batch_idx * operands.fresh.strides[0]) != 0;
    head.num_accepted = operands.num_accepted.present() ? IndexAt(operands.num_accepted, batch_idx)
                                                        : shape_.num_tokens;
    steps_.update_head(shape_, head, buffers_);
  }

  void ZeroOut(int64_t batch_idx, int64_t head_idx) {
    const Rows out = TokenRows(problem_.operands.out, batch_idx, head_idx);
    const int64_t bytes = ElementBytes(out.dtype);
    for (int64_t token = 0; token < shape_.num_tokens; ++token) {
      for (int64_t p = 0; p < shape_.headdim; ++p) {
        std::memset(out.At(token) + p * out.element_stride * bytes, 0, static_cast<size_t>(bytes));
      }
    }
  }

  const StateUpdateProblem& problem_;
  const StateStepSteps& steps_;
  const StepShape& shape_;
  const StepBuffers& buffers_;
};

// Of elements of the states, times tokens.
constexpr int64_t kLeastShare = 1 << 14;

int64_t ThreadBytes(const StepShape& shape) {
  Carver counter;
  StepBuffers::Take(counter, shape);
  return static_cast<int64_t>(counter.used_bytes());
}

}  // namespace

size_t StateUpdateWorkspaceBytes(const StateUpdateProblem& problem, const StateStepSteps& steps,
                                 const Schedule& schedule) {
  Carver counter;
  counter.Take<std::byte>(ThreadBytes(ShapeOf(problem, steps)), schedule.num_threads);
  return counter.required_bytes();
}

void StateUpdate(const StateUpdateProblem& problem, const StateStepSteps& steps,
                 const Launch& launch) {
  const StepShape shape = ShapeOf(problem, steps);
  const int64_t nheads = problem.sizes.nheads;
  const int64_t num_heads = problem.sizes.batch * nheads;
  const int64_t num_elements = num_heads * shape.num_tokens * shape.headdim * shape.dstate;
  const int32_t num_threads = NumWorthwhile(num_elements, kLeastShare, launch.schedule.num_threads);
  ParallelFor(launch.schedule.executor, num_threads, [&](int32_t thread_idx) {
    // Equal shares of neighbouring heads: the states of a share are one stretch of memory.
    int64_t head = num_heads * thread_idx / num_threads;
    const int64_t end = num_heads * (thread_idx + 1) / num_threads;
    if (head == end) return;
    Carver carver(launch.workspace);
    carver.Take<std::byte>(ThreadBytes(shape) * thread_idx);
    const StepBuffers buffers = StepBuffers::Take(carver, shape);
    Worker worker(problem, steps, shape, buffers);
    while (head < end) {
      const int64_t first_head = head % nheads;
      const int64_t count = std::min(nheads - first_head, end - head);
      worker.UpdateHeads(head / nheads, first_head, first_head + count);
      head += count;
    }
  });
}

}  // namespace tilescan::cpu
