// The steps of state_step.h, compiled once for each instruction set.
#include "cpu/kernels/state_step.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/state_step.cpp"
#include "cpu/kernels/highway_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

inline constexpr int64_t kStepLanes = hn::MaxLanes(FloatTag());
// Rows of headdim that go through the state together, sharing the loads of B and C.
inline constexpr int kBlockRows = 4;

StepShape MakeStepShape(int64_t num_tokens, int64_t nheads, int64_t headdim, int64_t dstate) {
  const auto padded = [](int64_t count) {
    return (count + kStepLanes - 1) / kStepLanes * kStepLanes;
  };
  return {num_tokens, nheads, headdim, dstate, padded(nheads), padded(headdim), padded(dstate)};
}

void LoadPaddedRow(const Rows& from, int64_t count, int64_t padded, float* to) {
  LoadRow(from.data, from.dtype, from.element_stride, count, to);
  std::fill(to + count, to + padded, 0.0f);
}

void PrepareDt(const StepShape& shape, const Rows& dt, const StepRule& rule, int64_t first_head,
               int64_t end_head, const StepBuffers& buffers) {
  const FloatTag d;
  const int64_t element_bytes = ElementBytes(dt.dtype);
  for (int64_t token = 0; token < shape.num_tokens; ++token) {
    float* to = buffers.dt + token * shape.padded_nheads;
    LoadRow(dt.At(token) + first_head * dt.element_stride * element_bytes, dt.dtype,
            dt.element_stride, end_head - first_head, to + first_head);
    // Whole vectors from a multiple of the vector: heads of others are computed and not used.
    for (int64_t head = first_head / kStepLanes * kStepLanes; head < end_head; head += kStepLanes) {
      FloatVector step = hn::Add(hn::Load(d, to + head), hn::Load(d, buffers.dt_bias + head));
      if (rule.dt_softplus) step = Softplus(d, step);
      step = Clamp(step, hn::Set(d, rule.dt_limit_min), hn::Set(d, rule.dt_limit_max));
      hn::Store(step, d, to + head);
      const FloatVector dA = Exp(d, hn::Mul(step, hn::Load(d, buffers.A + head)));
      hn::Store(dA, d, buffers.dA + token * shape.padded_nheads + head);
    }
  }
}

struct StepBlock {
  const float* B;
  const float* C;
  const float* x;  // of the block's rows
  float dt;
  float dA;
  float* out;  // of the block's rows
};

// One vector of each row through the step.
template <int kRows, typename T>
HWY_INLINE void StepVectors(FloatVector B, FloatVector C, FloatVector dA,
                            const FloatVector (&dt_x)[kRows], T* const (&at)[kRows],
                            FloatVector (&acc_out)[kRows]) {
  const FloatTag d;
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    const FloatVector before = hn::Mul(dA, LoadFloats(d, at[row]));
    const FloatVector after = hn::MulAdd(dt_x[row], B, before);
    StoreFloats(d, after, at[row]);
    acc_out[row] = hn::MulAdd(after, C, acc_out[row]);
  }
}

// kRows rows of a state, row_stride elements apart, through one token, in place.
template <int kRows, typename T>
HWY_INLINE void StepRows(const StepShape& shape, const StepBlock& block, T* state,
                         int64_t row_stride) {
  const FloatTag d;
  const FloatVector dA = hn::Set(d, block.dA);
  FloatVector dt_x[kRows], acc_out[kRows];
  T* at[kRows];
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    dt_x[row] = hn::Set(d, block.dt * block.x[row]);
    acc_out[row] = hn::Zero(d);
    at[row] = state + row * row_stride;
  }
  // A state from memory comes too late without this: its rows are short streams.
  const int64_t ahead = 2 * kRows * row_stride;
  int64_t n = 0;
  for (; n + kStepLanes <= shape.dstate; n += kStepLanes) {
    StepVectors(hn::Load(d, block.B + n), hn::Load(d, block.C + n), dA, dt_x, at, acc_out);
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      __builtin_prefetch(at[row] + ahead, 1);
      at[row] += kStepLanes;
    }
  }
  if (n < shape.dstate) {
    // The last elements go through vectors of their own, filled up with zeros.
    const size_t tail_bytes = static_cast<size_t>(shape.dstate - n) * sizeof(T);
    T tails[kRows][kStepLanes] = {};
    T* tail_at[kRows];
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(tails[row], at[row], tail_bytes);
      tail_at[row] = tails[row];
    }
    StepVectors(hn::Load(d, block.B + n), hn::Load(d, block.C + n), dA, dt_x, tail_at, acc_out);
    for (int row = 0; row < kRows; ++row) std::memcpy(at[row], tails[row], tail_bytes);
  }
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    block.out[row] = hn::GetLane(hn::SumOfLanes(d, acc_out[row]));
  }
}

StepBlock BlockOf(const StepShape& shape, const StepHead& head, const StepBuffers& buffers,
                  int64_t token, int64_t first_row) {
  return {buffers.B + token * shape.padded_dstate,
          buffers.C + token * shape.padded_dstate,
          buffers.x + token * shape.padded_headdim + first_row,
          buffers.dt[token * shape.padded_nheads + head.head_idx],
          buffers.dA[token * shape.padded_nheads + head.head_idx],
          buffers.out + token * shape.padded_headdim + first_row};
}

// One token, kept: the state is updated where it stands.
template <typename T>
void UpdateInPlace(const StepShape& shape, const StepHead& head, const StepBuffers& buffers) {
  int64_t row = 0;
  for (; row + kBlockRows <= shape.headdim; row += kBlockRows) {
    StepRows<kBlockRows>(shape, BlockOf(shape, head, buffers, 0, row),
                         reinterpret_cast<T*>(head.state.At(row)), head.state.row_stride);
  }
  for (; row < shape.headdim; ++row) {
    StepRows<1>(shape, BlockOf(shape, head, buffers, 0, row),
                reinterpret_cast<T*>(head.state.At(row)), head.state.row_stride);
  }
}

// The general case: some rows at a time are taken out in fp32, go through all tokens, and are put
// back as they are after the last accepted one.
void UpdateThroughRows(const StepShape& shape, const StepHead& head, const StepBuffers& buffers) {
  const Rows& state = head.state;
  for (int64_t first_row = 0; first_row < shape.headdim; first_row += kBlockRows) {
    const int64_t num_rows = std::min<int64_t>(kBlockRows, shape.headdim - first_row);
    const auto put_back = [&] {
      for (int64_t row = 0; row < num_rows; ++row) {
        StoreRow(buffers.rows + row * shape.padded_dstate, shape.dstate, state.dtype,
                 state.At(first_row + row), state.element_stride);
      }
    };
    for (int64_t row = 0; row < num_rows; ++row) {
      float* to = buffers.rows + row * shape.padded_dstate;
      if (head.is_fresh) {
        std::fill(to, to + shape.dstate, 0.0f);
      } else {
        LoadRow(state.At(first_row + row), state.dtype, state.element_stride, shape.dstate, to);
      }
    }
    if (head.is_fresh && head.num_accepted == 0) put_back();
    for (int64_t token = 0; token < shape.num_tokens; ++token) {
      if (num_rows == kBlockRows) {
        StepRows<kBlockRows>(shape, BlockOf(shape, head, buffers, token, first_row), buffers.rows,
                             shape.padded_dstate);
      } else {
        for (int64_t row = 0; row < num_rows; ++row) {
          StepRows<1>(shape, BlockOf(shape, head, buffers, token, first_row + row),
                      buffers.rows + row * shape.padded_dstate, shape.padded_dstate);
        }
      }
      if (token + 1 == head.num_accepted) put_back();
    }
  }
}

// D, the gate and the dtype of out.
void FinishOut(const StepShape& shape, const StepHead& head, const StepBuffers& buffers) {
  const FloatTag d;
  for (int64_t token = 0; token < shape.num_tokens; ++token) {
    float* out = buffers.out + token * shape.padded_headdim;
    const float* x = buffers.x + token * shape.padded_headdim;
    if (head.z.data != nullptr) {
      LoadRow(head.z.At(token), head.z.dtype, head.z.element_stride, shape.headdim, buffers.gate);
    }
    for (int64_t p = 0; p < shape.padded_headdim; p += kStepLanes) {
      FloatVector value = hn::Load(d, out + p);
      if (head.has_D) {
        value = hn::MulAdd(hn::Load(d, buffers.D_row + p), hn::Load(d, x + p), value);
      }
      if (head.z.data != nullptr) value = hn::Mul(value, Silu(d, hn::Load(d, buffers.gate + p)));
      hn::Store(value, d, out + p);
    }
    StoreRow(out, shape.headdim, head.out.dtype, head.out.At(token), head.out.element_stride);
  }
}

void UpdateHead(const StepShape& shape, const StepHead& head, const StepBuffers& buffers) {
  for (int64_t token = 0; token < shape.num_tokens; ++token) {
    LoadRow(head.x.At(token), head.x.dtype, head.x.element_stride, shape.headdim,
            buffers.x + token * shape.padded_headdim);
  }
  const bool in_place = shape.num_tokens == 1 && head.num_accepted == 1 && !head.is_fresh &&
                        head.state.element_stride == 1;
  if (!in_place) {
    UpdateThroughRows(shape, head, buffers);
  } else if (head.state.dtype == DType::kBFloat16) {
    UpdateInPlace<numerics::BFloat16>(shape, head, buffers);
  } else if (head.state.dtype == DType::kFloat16) {
    UpdateInPlace<numerics::Float16>(shape, head, buffers);
  } else {
    UpdateInPlace<float>(shape, head, buffers);
  }
  FinishOut(shape, head, buffers);
}

// Constant data: a function here would be compiled for an instruction set the machine may not have.
constexpr StateStepSteps kStateStepSteps = {
    .instruction_set = kInstructionSet,
    .hwy_target = HWY_TARGET,
    .is_baseline = kIsBaseline,
    .shape = &MakeStepShape,
    .load_row = &LoadPaddedRow,
    .prepare_dt = &PrepareDt,
    .update_head = &UpdateHead,
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilescan::cpu {

StepBuffers StepBuffers::Take(Carver& carver, const StepShape& shape) {
  constexpr int64_t kMostBlockRows = 4;
  StepBuffers buffers;
  buffers.A = carver.Take<float>(shape.padded_nheads);
  buffers.dt_bias = carver.Take<float>(shape.padded_nheads);
  buffers.dt = carver.Take<float>(shape.num_tokens * shape.padded_nheads);
  buffers.dA = carver.Take<float>(shape.num_tokens * shape.padded_nheads);
  buffers.B = carver.Take<float>(shape.num_tokens * shape.padded_dstate);
  buffers.C = carver.Take<float>(shape.num_tokens * shape.padded_dstate);
  buffers.x = carver.Take<float>(shape.num_tokens * shape.padded_headdim);
  buffers.out = carver.Take<float>(shape.num_tokens * shape.padded_headdim);
  buffers.gate = carver.Take<float>(shape.padded_headdim);
  buffers.D_row = carver.Take<float>(shape.padded_headdim);
  buffers.rows = carver.Take<float>(kMostBlockRows * shape.padded_dstate);
  return buffers;
}

std::span<const StateStepSteps> AllStateStepSteps() {
#define TILESCAN_ROW(target_namespace) target_namespace::kStateStepSteps,
  static constexpr StateStepSteps kAll[] = {TILESCAN_FOR_EACH_INSTRUCTION_SET(TILESCAN_ROW)};
#undef TILESCAN_ROW
  return kAll;
}

}  // namespace tilescan::cpu
#endif  // HWY_ONCE
