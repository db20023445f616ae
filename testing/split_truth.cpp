// What outputs of split_conv1d_scan are held against: its parts one after another, on copies of the
// columns that include/tilescan/layer.h names.
#include <cmath>

#include "numerics/activations.h"
#include "testing/solve.h"
#include "testing/split_parts.h"
#include "testing/truth.h"

namespace tilescan::testing {
namespace {

// Columns of (batch, seqlen, columns), from `first` on, as (batch, seqlen, sizes...).
HostTensor Columns(const HostTensor& rows, int64_t first, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> shape = {rows.shape()[0], rows.shape()[1]};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  HostTensor copy(rows.dtype(), shape);
  for (int64_t idx = 0; idx < copy.num_elements(); ++idx) {
    copy.SetBits(idx, rows.Bits(idx / count * rows.shape()[2] + first + idx % count));
  }
  return copy;
}

HostTensor Copied(const HostTensor& tensor) { return WithLayout(tensor, Layout::kCompact); }

struct Sizes {
  explicit Sizes(const SplitOperands& operands)
      : nheads(operands.A.shape()[0]),
        ngroups(operands.options.ngroups),
        conv_dim(operands.conv1d_weight.shape()[0]),
        dim(operands.zxbcdt.shape()[2] - conv_dim - nheads),
        headdim(dim / nheads),
        dstate((conv_dim - dim) / (2 * ngroups)) {}

  int64_t nheads, ngroups, conv_dim, dim, headdim, dstate;
};

// With f the norm's scale times weight, out_i = f v_i; an error of v_i counts f times, and so do
// those of the v beside it through the scale, v_j / (sum of squares) times v_i each.
void NormMagnitudes(const SplitOperands& operands, const HostTensor& y,
                    const HostTensor& y_magnitude, HostTensor* out) {
  const Sizes sizes(operands);
  const int64_t given = operands.options.group_size;
  const int64_t group_size = given == 0 ? sizes.dim / sizes.ngroups : given;
  const HostTensor z = Columns(operands.zxbcdt, 0, {sizes.dim});
  const bool gates_after = operands.options.norm_before_gate;
  for (int64_t first = 0; first < out->num_elements(); first += group_size) {
    const double num_eps = static_cast<double>(group_size) * double{operands.options.eps};
    double squares = num_eps;
    double errors = 0.0;
    const auto gate = [&](int64_t idx) { return std::fabs(numerics::Silu(z.Get(idx))); };
    const auto before = [&](int64_t idx) { return gates_after ? 1.0 : gate(idx); };
    for (int64_t idx = first; idx < first + group_size; ++idx) {
      const double value = std::fabs(y.Get(idx)) * before(idx);
      squares += value * value;
      errors += value * y_magnitude.Get(idx) * before(idx);
    }
    const double scale = std::sqrt(static_cast<double>(group_size) / squares);
    for (int64_t idx = first; idx < first + group_size; ++idx) {
      const double value =
          (y_magnitude.Get(idx) + std::fabs(y.Get(idx)) * errors / squares) * before(idx);
      const double weight = std::fabs(operands.rmsnorm_weight.Get(idx % sizes.dim));
      out->Set(idx, value * scale * weight * (gates_after ? gate(idx) : 1.0));
    }
  }
}

}  // namespace

ConvOperands ConvPart(const SplitOperands& operands) {
  const Sizes sizes(operands);
  ConvOperands conv;
  conv.options = operands.options;
  conv.x = Columns(operands.zxbcdt, sizes.dim, {sizes.conv_dim});
  conv.weight = Copied(operands.conv1d_weight);
  conv.bias = Copied(operands.conv1d_bias);
  conv.initial_states = Copied(operands.conv_initial_states);
  conv.seq_idx = Copied(operands.seq_idx);
  conv.cu_seqlens = Copied(operands.cu_seqlens);
  conv.out = HostTensor(conv.x.dtype(), conv.x.shape());
  conv.final_states = Copied(operands.conv_final_states);
  return conv;
}

ScanOperands ScanPart(const SplitOperands& operands, const HostTensor& xBC) {
  const Sizes sizes(operands);
  ScanOperands scan;
  scan.options = operands.options;
  scan.x = Columns(xBC, 0, {sizes.nheads, sizes.headdim});
  scan.dt = Columns(operands.zxbcdt, sizes.dim + sizes.conv_dim, {sizes.nheads});
  scan.A = Copied(operands.A);
  scan.B = Columns(xBC, sizes.dim, {sizes.ngroups, sizes.dstate});
  scan.C = Columns(xBC, sizes.dim + sizes.ngroups * sizes.dstate, {sizes.ngroups, sizes.dstate});
  scan.D = Copied(operands.D);
  if (!operands.rmsnorm_weight.present()) {
    scan.z = Columns(operands.zxbcdt, 0, {sizes.nheads, sizes.headdim});
  }
  scan.dt_bias = Copied(operands.dt_bias);
  scan.initial_states = Copied(operands.initial_states);
  scan.seq_idx = Copied(operands.seq_idx);
  scan.cu_seqlens = Copied(operands.cu_seqlens);
  scan.out = HostTensor(scan.x.dtype(), scan.x.shape());
  scan.final_states = Copied(operands.final_states);
  return scan;
}

NormOperands NormPart(const SplitOperands& operands, const HostTensor& y) {
  const Sizes sizes(operands);
  NormOperands norm;
  norm.options = operands.options;
  if (norm.options.group_size == 0) norm.options.group_size = sizes.dim / sizes.ngroups;
  norm.x = WithoutHeads(y);
  norm.weight = Copied(operands.rmsnorm_weight);
  norm.z = Columns(operands.zxbcdt, 0, {sizes.dim});
  norm.out = HostTensor(norm.x.dtype(), norm.x.shape());
  return norm;
}

HostTensor WithoutHeads(const HostTensor& heads) {
  const std::vector<int64_t>& shape = heads.shape();
  HostTensor rows(heads.dtype(), {shape[0], shape[1], shape[2] * shape[3]});
  for (int64_t idx = 0; idx < rows.num_elements(); ++idx) rows.SetBits(idx, heads.Bits(idx));
  return rows;
}

SplitOperands Truth(const SplitOperands& operands) {
  SplitOperands truth = InFloat64(WithoutResults(operands));
  SolveParts([](const auto& part) { return Truth(part); }, &truth);
  return truth;
}

SplitOperands HonestRun(const SplitOperands& operands) {
  SplitOperands honest = WithoutResults(operands);
  SolveParts([](const auto& part) { return HonestRun(part); }, &honest);
  return honest;
}

SplitOperands Magnitudes(const SplitOperands& operands) {
  SplitOperands magnitudes = InFloat64(WithoutResults(operands));
  const ConvOperands conv_truth = Truth(ConvPart(magnitudes));
  ConvOperands conv = Magnitudes(ConvPart(magnitudes));
  ScanOperands scan = Magnitudes(ScanPart(magnitudes, conv.out));
  if (!magnitudes.rmsnorm_weight.present()) {
    magnitudes.out = WithoutHeads(scan.out);
  } else {
    const ScanOperands scan_truth = Truth(ScanPart(magnitudes, conv_truth.out));
    NormMagnitudes(magnitudes, scan_truth.out, scan.out, &magnitudes.out);
  }
  magnitudes.conv_final_states = std::move(conv.final_states);
  magnitudes.final_states = std::move(scan.final_states);
  return magnitudes;
}

}  // namespace tilescan::testing
