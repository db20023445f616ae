// Checks of the causal convolution and of its decoding step, and the normal form of that. The rules
// are those of include/tilescan/layer.h.
#include "plan/check_operands.h"
#include "plan/read_operands.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

// Of both operations.
struct ChannelSizes {
  Size dim{"dim", 1};
  Size width{"width"};
};

// ---- forward ----

struct ForwardSizes : ChannelSizes {
  Size batch{"batch"};
  Size seqlen{"seqlen"};
  SequenceSizes sequences;
  Size history{"width - 1"};
};

void CheckShapes(const CausalConv1dForwardOperands& operands, ForwardSizes* sizes,
                 Violations* violations) {
  const Shape as_x = {&sizes->batch, &sizes->seqlen, &sizes->dim};
  const NamedView weight = {"weight", &operands.weight};
  CheckShape({"x", &operands.x}, {as_x}, violations);
  CheckShape(weight, {{&sizes->dim, &sizes->width}}, violations);
  CheckConvWidth(sizes->width, violations);
  CheckShape({"bias", &operands.bias}, {{&sizes->dim}}, violations);
  CheckSequences({"seq_idx", &operands.seq_idx}, {"cu_seqlens", &operands.cu_seqlens},
                 &sizes->batch, &sizes->seqlen, &sizes->sequences, violations);
  if (sizes->width.value > 0) {
    sizes->history.value = sizes->width.value - 1;
    sizes->history.source = weight;
  }
  Size* const num_seqs = operands.cu_seqlens.present() ? &sizes->sequences.num_seqs : &sizes->batch;
  const Shape as_states = {num_seqs, &sizes->dim, &sizes->history};
  CheckShape({"initial_states", &operands.initial_states}, {as_states}, violations);
  CheckShape({"out", &operands.out}, {as_x}, violations);
  CheckShape({"final_states", &operands.final_states}, {as_states}, violations);
}

void CheckDTypes(const CausalConv1dForwardOperands& operands, Violations* violations) {
  const NamedView x = {"x", &operands.x};
  const std::string because_x = DTypeOf(x);
  const std::vector<DType> floats = FloatsBeside(operands.x);
  const std::vector<DType> of_x = IsReadable(operands.x) ? std::vector{operands.x.dtype} : floats;
  CheckDType(x, FloatsBeside(TensorView()), "", violations);
  CheckDType({"weight", &operands.weight}, floats, because_x, violations);
  CheckDType({"bias", &operands.bias}, floats, because_x, violations);
  CheckDType({"initial_states", &operands.initial_states}, floats, because_x, violations);
  CheckDType({"out", &operands.out}, of_x, because_x, violations);
  CheckDType({"final_states", &operands.final_states}, floats, because_x, violations);
}

// ---- update ----

struct UpdateSizes : ChannelSizes {
  Size batch{"batch"};
  Size num_tokens{"T", 1};
  Size num_slots{"slots"};
  Size state_len{"state_len"};
};

constexpr int kNdimWithTokens = 3;  // of x

bool HasTokenDimension(const CausalConv1dUpdateOperands& operands) {
  return operands.x.ndim == kNdimWithTokens;
}

void CheckStateLength(const UpdateSizes& sizes, Violations* violations) {
  if (!sizes.state_len.is_known() || sizes.state_len.value >= sizes.width.value - 1) return;
  violations->Add(Text("conv_state has state_len ", sizes.state_len.value, ", expected ",
                       sizes.width.value - 1, " or more because weight is ",
                       ShapeText(*sizes.width.source.view)));
}

void CheckShapes(const CausalConv1dUpdateOperands& operands, UpdateSizes* sizes,
                 Violations* violations) {
  const Shape as_x_without = {&sizes->batch, &sizes->dim};
  const Shape as_x_with = {&sizes->batch, &sizes->num_tokens, &sizes->dim};
  CheckShape({"x", &operands.x}, {as_x_without, as_x_with}, violations);
  CheckShape({"weight", &operands.weight}, {{&sizes->dim, &sizes->width}}, violations);
  CheckConvWidth(sizes->width, violations);
  CheckShape({"bias", &operands.bias}, {{&sizes->dim}}, violations);
  const bool has_indices = operands.conv_state_indices.present();
  Size* const num_slots = has_indices ? &sizes->num_slots : &sizes->batch;
  CheckShape({"conv_state", &operands.conv_state}, {{num_slots, &sizes->dim, &sizes->state_len}},
             violations);
  CheckStateLength(*sizes, violations);
  CheckShape({"conv_state_indices", &operands.conv_state_indices}, {{&sizes->batch}}, violations);
  CheckShape({"cache_seqlens", &operands.cache_seqlens}, {{&sizes->batch}}, violations);
  const bool has_tokens = HasTokenDimension(operands);
  CheckShape({"out", &operands.out}, {has_tokens ? as_x_with : as_x_without}, violations);
}

void CheckDTypes(const CausalConv1dUpdateOperands& operands, Violations* violations) {
  const NamedView x = {"x", &operands.x};
  const std::string because_x = DTypeOf(x);
  const std::vector<DType> floats = FloatsBeside(operands.x);
  CheckDType({"conv_state", &operands.conv_state}, floats, because_x, violations);
  CheckDType(x, FloatsBeside(TensorView()), "", violations);
  CheckDType({"weight", &operands.weight}, floats, because_x, violations);
  CheckDType({"bias", &operands.bias}, floats, because_x, violations);
  CheckDType({"conv_state_indices", &operands.conv_state_indices}, {DType::kInt32, DType::kInt64},
             "", violations);
  CheckDType({"cache_seqlens", &operands.cache_seqlens}, {DType::kInt32}, "", violations);
  CheckDType({"out", &operands.out}, floats, because_x, violations);
}

CausalConv1dUpdateOperands NormalForm(const CausalConv1dUpdateOperands& described) {
  CausalConv1dUpdateOperands operands = described;
  if (HasTokenDimension(described)) return operands;
  InsertTokenDimension(&operands.x);
  InsertTokenDimension(&operands.out);
  return operands;
}

}  // namespace

Validated<CausalConv1dForwardProblem> Validate(const tilescan_causal_conv1d_forward_args& args,
                                               Violations* violations) {
  Validated<CausalConv1dForwardProblem> validated;
  CausalConv1dForwardOperands& operands = validated.described;
  operands = ReadTensors<CausalConv1dForwardProblem>(args, violations);
  operands.has_silu = args.activation == TILESCAN_ACTIVATION_SILU;

  ForwardSizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckDistinctElements({"out", &operands.out}, violations);
  CheckDistinctElements({"final_states", &operands.final_states}, violations);
  CheckActivation(args.activation, violations);

  DropData<CausalConv1dForwardProblem>(&operands);
  const bool is_packed = operands.cu_seqlens.present();
  validated.problem = {{.batch = sizes.batch.value,
                        .seqlen = sizes.seqlen.value,
                        .dim = sizes.dim.value,
                        .width = sizes.width.value,
                        .num_seqs = is_packed ? sizes.sequences.num_seqs.value : sizes.batch.value},
                       operands};
  return validated;
}

Validated<CausalConv1dUpdateProblem> Validate(const tilescan_causal_conv1d_update_args& args,
                                              Violations* violations) {
  Validated<CausalConv1dUpdateProblem> validated;
  CausalConv1dUpdateOperands& operands = validated.described;
  operands = ReadTensors<CausalConv1dUpdateProblem>(args, violations);
  operands.has_silu = args.activation == TILESCAN_ACTIVATION_SILU;

  UpdateSizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckDistinctElements({"conv_state", &operands.conv_state}, violations);
  CheckDistinctElements({"out", &operands.out}, violations);
  CheckActivation(args.activation, violations);

  DropData<CausalConv1dUpdateProblem>(&operands);
  const bool has_indices = operands.conv_state_indices.present();
  validated.problem = {{.batch = sizes.batch.value,
                        .num_tokens = HasTokenDimension(operands) ? sizes.num_tokens.value : 1,
                        .num_slots = has_indices ? sizes.num_slots.value : sizes.batch.value,
                        .dim = sizes.dim.value,
                        .width = sizes.width.value,
                        .state_len = sizes.state_len.value},
                       NormalForm(operands)};
  return validated;
}

}  // namespace tilescan::plan
