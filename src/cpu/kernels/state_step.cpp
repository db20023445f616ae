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

StepShape MakeStepShape(int64_t num_tokens, int64_t nheads, int64_t headdim, int64_t dstate) {
  const auto padded = [](int64_t count) {
    constexpr int64_t kMultiple = std::max(kStepLanes, kRowsTogether);
    return (count + kMultiple - 1) / kMultiple * kMultiple;
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

// A vector of the state through the step, in place; adds its part of h C.
template <typename T>
HWY_INLINE FloatVector StepVector(const StepBlock& block, int64_t n, FloatVector dA,
                                  FloatVector dt_x, T* state, FloatVector acc_out) {
  const FloatTag d;
  const FloatVector before = hn::Mul(dA, LoadFloats(d, state));
  const FloatVector after = hn::MulAdd(dt_x, hn::Load(d, block.B + n), before);
  StoreFloats(d, after, state);
  return hn::MulAdd(after, hn::Load(d, block.C + n), acc_out);
}

// Asks for what the state's stream comes to next, for writing. May point behind the state, where
// nothing happens.
template <typename T>
HWY_INLINE void PrefetchAhead(const T* state) {
  constexpr uintptr_t kAheadBytes = 2048;
  constexpr uintptr_t kLineBytes = 64;
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(state) + kAheadBytes;
#pragma GCC unroll 4
  for (uintptr_t byte = 0; byte < 2 * kStepLanes * sizeof(T); byte += kLineBytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + byte), 1);
  }
}

// One row of a state through one token, in place. The sum of the result's lanes is the row's out.
// Rows are taken one after the other, as they lie: a state that comes from memory is one stream,
// and several rows at a time took 1.5 times as long.
template <typename T>
HWY_INLINE FloatVector StepRow(const StepShape& shape, const StepBlock& block, float x, T* state) {
  const FloatTag d;
  const FloatVector dA = hn::Set(d, block.dA);
  const FloatVector dt_x = hn::Set(d, block.dt * x);
  // Two chains of additions: one would be the limit when the state is in the cache.
  FloatVector even = hn::Zero(d);
  FloatVector odd = hn::Zero(d);
  int64_t n = 0;
  for (; n + 2 * kStepLanes <= shape.dstate; n += 2 * kStepLanes) {
    PrefetchAhead(state + n);
    even = StepVector(block, n, dA, dt_x, state + n, even);
    odd = StepVector(block, n + kStepLanes, dA, dt_x, state + n + kStepLanes, odd);
  }
  if (n + kStepLanes <= shape.dstate) {
    even = StepVector(block, n, dA, dt_x, state + n, even);
    n += kStepLanes;
  }
  if (n < shape.dstate) {
    // The last elements go through a vector of their own, filled up with zeros.
    const size_t tail_bytes = static_cast<size_t>(shape.dstate - n) * sizeof(T);
    T tail[kStepLanes] = {};
    std::memcpy(tail, state + n, tail_bytes);
    odd = StepVector(block, n, dA, dt_x, tail, odd);
    std::memcpy(state + n, tail, tail_bytes);
  }
  return hn::Add(even, odd);
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void StoreSumsOfLanes(const FloatVector (&rows)[kRowsTogether], float* to) {
  for (int row = 0; row < kRowsTogether; ++row) to[row] = hn::GetLane(rows[row]);
}

#else

// Adds up the blocks of four lanes.
using FourFloats = hn::CappedTag<float, 4>;
template <class D>
HWY_INLINE hn::Vec<FourFloats> SumOfBlocks([[maybe_unused]] D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Stores the sums of the lanes of each row.
HWY_INLINE void StoreSumsOfLanes(const FloatVector (&rows)[kRowsTogether], float* to) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> d_pairs;
  const auto add_halves = [d](FloatVector a, FloatVector b) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  const auto rows_01 = hn::BitCast(d_pairs, add_halves(rows[0], rows[1]));
  const auto rows_23 = hn::BitCast(d_pairs, add_halves(rows[2], rows[3]));
  const FloatVector sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(d_pairs, rows_01, rows_23)),
                                   hn::BitCast(d, hn::InterleaveUpper(d_pairs, rows_01, rows_23)));
  hn::StoreU(SumOfBlocks(d, sums), FourFloats(), to);
}

#endif  // HWY_TARGET == HWY_SCALAR

// Rows of a state, row_stride elements apart, through one token, in place.
template <typename T>
HWY_INLINE void StepRows(const StepShape& shape, const StepBlock& block, int64_t num_rows, T* state,
                         int64_t row_stride) {
  int64_t row = 0;
  FloatVector out[kRowsTogether];
  for (; row + kRowsTogether <= num_rows; row += kRowsTogether) {
#pragma GCC unroll 4
    for (int64_t idx = 0; idx < kRowsTogether; ++idx) {
      out[idx] = StepRow(shape, block, block.x[row + idx], state + (row + idx) * row_stride);
    }
    StoreSumsOfLanes(out, block.out + row);
  }
  if (row < num_rows) {
    for (int64_t idx = 0; idx < kRowsTogether; ++idx) {
      out[idx] = row + idx < num_rows
                     ? StepRow(shape, block, block.x[row + idx], state + (row + idx) * row_stride)
                     : hn::Zero(FloatTag());
    }
    StoreSumsOfLanes(out, block.out + row);
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
  StepRows(shape, BlockOf(shape, head, buffers, 0, 0), shape.headdim,
           reinterpret_cast<T*>(head.state.At(0)), head.state.row_stride);
}

// The general case: some rows at a time are taken out in fp32, go through all tokens, and are put
// back as they are after the last accepted one.
void UpdateThroughRows(const StepShape& shape, const StepHead& head, const StepBuffers& buffers) {
  const Rows& state = head.state;
  for (int64_t first_row = 0; first_row < shape.headdim; first_row += kRowsTogether) {
    const int64_t num_rows = std::min(kRowsTogether, shape.headdim - first_row);
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
      StepBlock block = BlockOf(shape, head, buffers, token, first_row);
      // Zeros stay zeros even where exp(dt A) is infinite.
      if (head.is_fresh && token == 0) block.dA = 0.0f;
      StepRows(shape, block, num_rows, buffers.rows, shape.padded_dstate);
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
    .num_lanes = kStepLanes,
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
  buffers.rows = carver.Take<float>(kRowsTogether * shape.padded_dstate);
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
