#include "extension/outputs.h"

#include <algorithm>
#include <string>

#include <nanobind/stl/string.h>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

tilescan_tensor CompactLike(const tilescan_tensor& tensor) {
  return tilescan_contiguous(nullptr, tensor.dtype, tensor.ndim, tensor.shape);
}

bool IsGiven(const tilescan_tensor& tensor) { return tensor.dtype.bits != 0; }

// Of a packed problem, or of one with a sequence in each row.
bool HasNumSeqs(const tilescan_tensor& cu_seqlens) {
  return !IsGiven(cu_seqlens) || (cu_seqlens.ndim == 1 && cu_seqlens.shape[0] >= 1);
}
int64_t NumSeqs(const tilescan_tensor& cu_seqlens, const tilescan_tensor& x) {
  return IsGiven(cu_seqlens) ? cu_seqlens.shape[0] - 1 : x.shape[0];
}

tilescan_dtype ReadStateDtype(const OutputsWanted& wanted, tilescan_dtype otherwise) {
  if (!wanted.state_dtype.is_valid()) return otherwise;
  // "float32", torch.float32, numpy.dtype("float32"), <class 'numpy.float32'>
  const std::string text = nb::cast<std::string>(nb::str(wanted.state_dtype));
  const auto holds = [&](const char* name) { return text.find(name) != std::string::npos; };
  if (holds("bfloat16")) return tilescan_bfloat16();
  if (holds("float16")) return tilescan_float16();
  if (holds("float32")) return tilescan_float32();
  if (holds("float64")) return tilescan_float64();
  Throw(TILESCAN_INVALID_ARGUMENT, std::string(wanted.operation) + ": state_dtype is " + text +
                                       ", expected float32, bfloat16, float16 or float64");
}

}  // namespace

void DescribeOutputs(const OutputsWanted& wanted, tilescan_scan_forward_args* args) {
  const tilescan_dtype fp32 = tilescan_float32(), float64 = tilescan_float64();
  const auto state_dtype = ReadStateDtype(wanted, args->x.dtype.bits == 64 ? float64 : fp32);
  if (!IsGiven(args->out)) args->out = CompactLike(args->x);
  if (args->x.ndim != 4 || args->B.ndim != 4 || !HasNumSeqs(args->cu_seqlens)) return;
  const int64_t num_seqs = NumSeqs(args->cu_seqlens, args->x);
  const int64_t state_shape[4] = {num_seqs, args->x.shape[2], args->x.shape[3], args->B.shape[3]};
  if (wanted.final_states && !IsGiven(args->final_states)) {
    args->final_states = tilescan_contiguous(nullptr, state_dtype, 4, state_shape);
  }
  if (args->states_every <= 0 || IsGiven(args->states_out)) return;
  const int64_t num_steps = args->x.shape[1] / args->states_every;
  const int64_t num_rows = IsGiven(args->cu_seqlens) ? num_steps + num_seqs : num_steps;
  const int64_t shape[5] = {args->x.shape[0], num_rows, state_shape[1], state_shape[2],
                            state_shape[3]};
  args->states_out = tilescan_contiguous(nullptr, state_dtype, 5, shape);
}

void DescribeOutputs(const OutputsWanted&, tilescan_state_update_args* args) {
  if (!IsGiven(args->out)) args->out = CompactLike(args->x);
}

void DescribeOutputs(const OutputsWanted& wanted, tilescan_causal_conv1d_forward_args* args) {
  const tilescan_dtype state_dtype = ReadStateDtype(wanted, args->x.dtype);
  if (!IsGiven(args->out)) args->out = CompactLike(args->x);
  if (!wanted.final_states || IsGiven(args->final_states)) return;
  if (args->x.ndim != 3 || args->weight.ndim != 2 || !HasNumSeqs(args->cu_seqlens)) return;
  const int64_t shape[3] = {NumSeqs(args->cu_seqlens, args->x), args->x.shape[2],
                            args->weight.shape[1] - 1};
  args->final_states = tilescan_contiguous(nullptr, state_dtype, 3, shape);
}

void DescribeOutputs(const OutputsWanted&, tilescan_causal_conv1d_update_args* args) {
  if (!IsGiven(args->out)) args->out = CompactLike(args->x);
}

void DescribeOutputs(const OutputsWanted&, tilescan_rms_norm_gated_forward_args* args) {
  if (!IsGiven(args->out)) args->out = CompactLike(args->x);
}

void DescribeOutputs(const OutputsWanted& wanted, tilescan_split_conv1d_scan_forward_args* args) {
  const tilescan_tensor& zxbcdt = args->zxbcdt;
  const tilescan_dtype fp32 = tilescan_float32(), float64 = tilescan_float64();
  const auto state_dtype = ReadStateDtype(wanted, zxbcdt.dtype.bits == 64 ? float64 : fp32);
  if (zxbcdt.ndim != 3 || args->conv1d_weight.ndim != 2 || args->A.ndim != 1) return;
  const int64_t nheads = args->A.shape[0], conv_dim = args->conv1d_weight.shape[0];
  // Where sizes do not fit each other, planning says so before it looks at outputs.
  const int64_t dim = std::max<int64_t>(zxbcdt.shape[2] - conv_dim - nheads, 0);
  if (!IsGiven(args->out)) {
    const int64_t shape[3] = {zxbcdt.shape[0], zxbcdt.shape[1], dim};
    args->out = tilescan_contiguous(nullptr, zxbcdt.dtype, 3, shape);
  }
  if (!HasNumSeqs(args->cu_seqlens)) return;
  const int64_t num_seqs = NumSeqs(args->cu_seqlens, zxbcdt);
  if (wanted.final_states && !IsGiven(args->final_states) && nheads > 0 && args->ngroups > 0) {
    const int64_t dstate = std::max<int64_t>(conv_dim - dim, 0) / 2 / args->ngroups;
    const int64_t shape[4] = {num_seqs, nheads, dim / nheads, dstate};
    args->final_states = tilescan_contiguous(nullptr, state_dtype, 4, shape);
  }
  if (wanted.conv_final_states && !IsGiven(args->conv_final_states)) {
    const int64_t shape[3] = {num_seqs, conv_dim, args->conv1d_weight.shape[1] - 1};
    args->conv_final_states = tilescan_contiguous(nullptr, zxbcdt.dtype, 3, shape);
  }
}

}  // namespace tilescan::python
