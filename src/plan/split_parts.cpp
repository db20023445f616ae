#include "plan/split_parts.h"

#include <initializer_list>
#include <iterator>

namespace tilescan::plan {
namespace {

// Columns of a (batch, seqlen, columns) view, from `first` on, as (batch, seqlen, sizes...). As
// everywhere, a dimension that reaches no other element has stride 0.
TensorView Columns(const TensorView& rows, int64_t first, std::initializer_list<int64_t> sizes) {
  constexpr int kNumRowDims = 2;
  TensorView part = rows;
  part.ndim = kNumRowDims + static_cast<int>(sizes.size());
  int64_t stride = rows.strides[kNumRowDims];
  int dim = part.ndim;
  for (auto size = std::rbegin(sizes); size != std::rend(sizes); ++size) {
    --dim;
    part.shape[dim] = *size;
    part.strides[dim] = *size > 1 ? stride : 0;
    stride *= *size;
  }
  const int64_t offset = first * rows.strides[kNumRowDims];
  part.is_aligned = rows.is_aligned &&
                    offset * ElementBytes(rows.dtype) % static_cast<int64_t>(kVectorAlignment) == 0;
  if (rows.data != nullptr && rows.num_elements() > 0) part.data = rows.AtBytes(offset);
  return part;
}

TensorView CompactRows(void* data, DType dtype, const SplitConv1dScanForwardSizes& sizes) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.ndim = 3;
  view.shape = {sizes.batch, sizes.seqlen, sizes.conv_dim()};
  view.strides = {sizes.batch > 1 ? sizes.seqlen * sizes.conv_dim() : 0,
                  sizes.seqlen > 1 ? sizes.conv_dim() : 0, sizes.conv_dim() > 1 ? 1 : 0};
  return view;
}

CausalConv1dForwardProblem ConvPart(const SplitConv1dScanForwardProblem& problem,
                                    const TensorView& xBC) {
  const auto& [sizes, operands] = problem;
  CausalConv1dForwardProblem conv;
  conv.sizes = {.batch = sizes.batch,
                .seqlen = sizes.seqlen,
                .dim = sizes.conv_dim(),
                .width = sizes.width,
                .num_seqs = sizes.num_seqs};
  conv.operands.x = Columns(operands.zxbcdt, sizes.dim(), {sizes.conv_dim()});
  conv.operands.weight = operands.conv1d_weight;
  conv.operands.bias = operands.conv1d_bias;
  conv.operands.initial_states = operands.conv_initial_states;
  conv.operands.seq_idx = operands.seq_idx;
  conv.operands.cu_seqlens = operands.cu_seqlens;
  conv.operands.out = xBC;
  conv.operands.final_states = operands.conv_final_states;
  conv.operands.has_silu = operands.has_silu;
  return conv;
}

ScanForwardProblem ScanPart(const SplitConv1dScanForwardProblem& problem, const TensorView& xBC) {
  const auto& [sizes, operands] = problem;
  const int64_t dim = sizes.dim();
  ScanForwardProblem scan;
  scan.sizes = {.batch = sizes.batch,
                .seqlen = sizes.seqlen,
                .nheads = sizes.nheads,
                .headdim = sizes.headdim,
                .ngroups = sizes.ngroups,
                .dstate = sizes.dstate,
                .num_seqs = sizes.num_seqs};
  ScanForwardOperands& parts = scan.operands;
  parts.x = Columns(xBC, 0, {sizes.nheads, sizes.headdim});
  parts.dt = Columns(operands.zxbcdt, dim + sizes.conv_dim(), {sizes.nheads});
  parts.A = operands.A;
  parts.B = Columns(xBC, dim, {sizes.ngroups, sizes.dstate});
  parts.C = Columns(xBC, dim + sizes.ngroups * sizes.dstate, {sizes.ngroups, sizes.dstate});
  parts.D = operands.D;
  if (!operands.rmsnorm_weight.present()) {
    parts.z = Columns(operands.zxbcdt, 0, {sizes.nheads, sizes.headdim});
  }
  parts.dt_bias = operands.dt_bias;
  parts.initial_states = operands.initial_states;
  parts.seq_idx = operands.seq_idx;
  parts.cu_seqlens = operands.cu_seqlens;
  parts.out = Columns(operands.out, 0, {sizes.nheads, sizes.headdim});
  parts.final_states = operands.final_states;
  parts.dt_softplus = operands.dt_softplus;
  parts.dt_limit_min = operands.dt_limit_min;
  parts.dt_limit_max = operands.dt_limit_max;
  return scan;
}

RmsNormGatedForwardProblem NormPart(const SplitConv1dScanForwardProblem& problem) {
  const auto& [sizes, operands] = problem;
  RmsNormGatedForwardProblem norm;
  norm.sizes = {.batch = sizes.batch,
                .seqlen = sizes.seqlen,
                .dim = sizes.dim(),
                .group_size = sizes.group_size};
  norm.operands.x = norm.operands.out = operands.out;
  norm.operands.weight = operands.rmsnorm_weight;
  norm.operands.z = Columns(operands.zxbcdt, 0, {sizes.dim()});
  norm.operands.group_size = sizes.group_size;
  norm.operands.eps = operands.rmsnorm_eps;
  norm.operands.norm_before_gate = operands.norm_before_gate;
  return norm;
}

}  // namespace

SplitParts MakeSplitParts(const SplitConv1dScanForwardProblem& problem, void* xBC) {
  const TensorView rows = CompactRows(xBC, problem.operands.zxbcdt.dtype, problem.sizes);
  SplitParts parts = {ConvPart(problem, rows), ScanPart(problem, rows), {}};
  if (problem.operands.rmsnorm_weight.present()) parts.norm = NormPart(problem);
  return parts;
}

}  // namespace tilescan::plan
