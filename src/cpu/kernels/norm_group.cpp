// The steps of norm_group.h, compiled once for each instruction set.
#include "cpu/kernels/norm_group.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/norm_group.cpp"
#include "cpu/kernels/highway_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "cpu/kernels/simd_math-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

inline constexpr int64_t kNormLanes = hn::MaxLanes(FloatTag());
// Sums that run beside each other: one chain of additions would wait for itself.
inline constexpr int64_t kNormSums = 4;
inline constexpr int64_t kNormStep = kNormSums * kNormLanes;
static_assert(kNormStep <= kNormPadding);

void LoadNormRow(const Rows& from, int64_t count, float* to) {
  LoadRow(from.data, from.dtype, from.element_stride, count, to);
}

// A row in fp32, with zeros behind it to whole steps.
HWY_INLINE void LoadGroup(const Rows& from, int64_t count, float* to) {
  LoadRow(from.data, from.dtype, from.element_stride, count, to);
  std::fill(to + count, to + (count + kNormStep - 1) / kNormStep * kNormStep, 0.0f);
}

HWY_INLINE FloatVector SumOfSquares(const float* values, int64_t count) {
  const FloatTag d;
  FloatVector sum0 = hn::Zero(d);
  FloatVector sum1 = hn::Zero(d);
  FloatVector sum2 = hn::Zero(d);
  FloatVector sum3 = hn::Zero(d);
  const auto add = [&](int64_t idx, FloatVector sum) {
    const FloatVector value = hn::Load(d, values + idx);
    return hn::MulAdd(value, value, sum);
  };
  for (int64_t idx = 0; idx < count; idx += kNormStep) {
    sum0 = add(idx, sum0);
    sum1 = add(idx + kNormLanes, sum1);
    sum2 = add(idx + 2 * kNormLanes, sum2);
    sum3 = add(idx + 3 * kNormLanes, sum3);
  }
  return hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
}

void NormGroup(const NormRule& rule, const NormBuffers& buffers, int64_t first_channel,
               const Rows& x, const Rows& z, const Rows& out) {
  const FloatTag d;
  const int64_t size = rule.group_size;
  float* values = buffers.values;
  LoadGroup(x, size, values);
  const bool has_gate = z.data != nullptr;
  if (has_gate) {
    LoadGroup(z, size, buffers.gate);
    for (int64_t idx = 0; idx < size; idx += kNormLanes) {
      const FloatVector gate = Silu(d, hn::Load(d, buffers.gate + idx));
      if (rule.norm_before_gate) {
        hn::Store(gate, d, buffers.gate + idx);
      } else {
        hn::Store(hn::Mul(hn::Load(d, values + idx), gate), d, values + idx);
      }
    }
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, SumOfSquares(values, size)));
  const float scale = 1.0f / std::sqrt(sum / static_cast<float>(size) + rule.eps);
  for (int64_t idx = 0; idx < size; idx += kNormLanes) {
    const FloatVector normed = hn::Mul(hn::Load(d, values + idx), hn::Set(d, scale));
    FloatVector value = hn::MulAdd(normed, hn::LoadU(d, buffers.weight + first_channel + idx),
                                   hn::LoadU(d, buffers.bias + first_channel + idx));
    if (has_gate && rule.norm_before_gate) value = hn::Mul(value, hn::Load(d, buffers.gate + idx));
    hn::Store(value, d, values + idx);
  }
  StoreRow(values, size, out.dtype, out.data, out.element_stride);
}

// Constant data: a function here would be compiled for an instruction set the machine may not have.
constexpr NormGroupSteps kNormGroupSteps = {
    .instruction_set = kInstructionSet,
    .hwy_target = HWY_TARGET,
    .is_baseline = kIsBaseline,
    .num_lanes = kNormLanes,
    .load_row = &LoadNormRow,
    .norm_group = &NormGroup,
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilescan::cpu {

NormBuffers NormBuffers::Take(Carver& carver, int64_t dim, int64_t group_size) {
  NormBuffers buffers;
  buffers.weight = carver.Take<float>(dim + kNormPadding);
  buffers.bias = carver.Take<float>(dim + kNormPadding);
  buffers.values = carver.Take<float>(group_size + kNormPadding);
  buffers.gate = carver.Take<float>(group_size + kNormPadding);
  return buffers;
}

std::span<const NormGroupSteps> AllNormGroupSteps() {
#define TILESCAN_ROW(target_namespace) target_namespace::kNormGroupSteps,
  static constexpr NormGroupSteps kAll[] = {TILESCAN_FOR_EACH_INSTRUCTION_SET(TILESCAN_ROW)};
#undef TILESCAN_ROW
  return kAll;
}

}  // namespace tilescan::cpu
#endif  // HWY_ONCE
