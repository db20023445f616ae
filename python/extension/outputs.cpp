#include "extension/outputs.h"

#include <string>

#include <nanobind/stl/string.h>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {
namespace {

tilescan_tensor CompactLike(const tilescan_tensor& tensor) {
  return tilescan_contiguous(nullptr, tensor.dtype, tensor.ndim, tensor.shape);
}

bool HasStateSizes(const tilescan_scan_forward_args& args) {
  const bool has_sequences = args.cu_seqlens.dtype.bits == 0 ||
                             (args.cu_seqlens.ndim == 1 && args.cu_seqlens.shape[0] >= 1);
  return args.x.ndim == 4 && args.B.ndim == 4 && has_sequences;
}

}  // namespace

tilescan_dtype ReadStateDtype(nb::handle given, tilescan_dtype x_dtype) {
  if (!given.is_valid()) return x_dtype.bits == 64 ? tilescan_float64() : tilescan_float32();
  // "float32", torch.float32, numpy.dtype("float32"), <class 'numpy.float32'>
  const std::string text = nb::cast<std::string>(nb::str(given));
  const auto holds = [&](const char* name) { return text.find(name) != std::string::npos; };
  if (holds("bfloat16")) return tilescan_bfloat16();
  if (holds("float16")) return tilescan_float16();
  if (holds("float32")) return tilescan_float32();
  if (holds("float64")) return tilescan_float64();
  Throw(TILESCAN_INVALID_ARGUMENT, "scan_forward: state_dtype is " + text +
                                       ", expected float32, bfloat16, float16 or float64");
}

void DescribeOutputs(bool wants_final_states, tilescan_dtype state_dtype,
                     tilescan_scan_forward_args* args) {
  if (args->out.dtype.bits == 0) args->out = CompactLike(args->x);
  if (!HasStateSizes(*args)) return;
  const bool is_packed = args->cu_seqlens.dtype.bits != 0;
  const int64_t num_seqs = is_packed ? args->cu_seqlens.shape[0] - 1 : args->x.shape[0];
  const int64_t state_shape[4] = {num_seqs, args->x.shape[2], args->x.shape[3], args->B.shape[3]};
  if (wants_final_states && args->final_states.dtype.bits == 0) {
    args->final_states = tilescan_contiguous(nullptr, state_dtype, 4, state_shape);
  }
  if (args->states_every <= 0 || args->states_out.dtype.bits != 0) return;
  const int64_t num_steps = args->x.shape[1] / args->states_every;
  const int64_t shape[5] = {args->x.shape[0], is_packed ? num_steps + num_seqs : num_steps,
                            state_shape[1], state_shape[2], state_shape[3]};
  args->states_out = tilescan_contiguous(nullptr, state_dtype, 5, shape);
}

void DescribeOutputs(tilescan_state_update_args* args) {
  if (args->out.dtype.bits == 0) args->out = CompactLike(args->x);
}

}  // namespace tilescan::python
