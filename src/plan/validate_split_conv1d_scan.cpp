// Checks of a layer between its projections. The rules are those of include/tilescan/layer.h.
#include "plan/check_operands.h"
#include "plan/read_operands.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

using Operands = SplitConv1dScanForwardOperands;

struct Sizes {
  Size batch{"batch"};
  Size seqlen{"seqlen"};
  Size num_columns{"dim + conv_dim + nheads", 1};
  Size conv_dim{"conv_dim", 1};
  Size width{"width"};
  Size nheads{"nheads", 1};
  Size dim{"dim", 1};
  Size headdim{"headdim", 1};
  Size dstate{"dstate", 1};
  Size history{"width - 1"};
  SequenceSizes sequences;
};

bool AreKnown(const Sizes& sizes) {
  return sizes.num_columns.value > 0 && sizes.conv_dim.value > 0 && sizes.nheads.value > 0;
}

// Sets dim, headdim and dstate, where the three shapes that they follow from leave whole numbers.
void DeriveSizes(const Operands& operands, int64_t ngroups, Sizes* sizes, Violations* violations) {
  if (!AreKnown(*sizes)) return;
  const int64_t nheads = sizes->nheads.value;
  if (ngroups < 1 || nheads % ngroups != 0) {
    violations->Add(Text("ngroups is ", ngroups, ", expected a divisor of nheads ", nheads,
                         " because A is ", ShapeText(operands.A)));
    return;
  }
  const std::string of_others = Text("conv1d_weight is ", ShapeText(operands.conv1d_weight),
                                     ", A is ", ShapeText(operands.A), " and ngroups is ", ngroups);
  const int64_t conv_dim = sizes->conv_dim.value;
  const int64_t dim = sizes->num_columns.value - conv_dim - nheads;
  const int64_t num_state_columns = conv_dim - dim;
  if (dim < 1 || dim % nheads != 0 || num_state_columns < 1 ||
      num_state_columns % (2 * ngroups) != 0) {
    violations->Add(Text("zxbcdt has shape ", ShapeText(operands.zxbcdt),
                         ", expected (batch, seqlen, dim + conv_dim + nheads) with dim = nheads * "
                         "headdim and conv_dim = dim + 2 * ngroups * dstate because ",
                         of_others));
    return;
  }
  sizes->dim.value = dim;
  sizes->headdim.value = dim / nheads;
  sizes->dstate.value = num_state_columns / (2 * ngroups);
  for (Size* size : {&sizes->dim, &sizes->headdim, &sizes->dstate}) {
    size->reason = Text("zxbcdt is ", ShapeText(operands.zxbcdt), ", ", of_others);
  }
}

void CheckStates(const Operands& operands, Sizes* sizes, Violations* violations) {
  if (sizes->width.value > 0) {
    sizes->history.value = sizes->width.value - 1;
    sizes->history.source = {"conv1d_weight", &operands.conv1d_weight};
  }
  Size* const num_seqs = operands.cu_seqlens.present() ? &sizes->sequences.num_seqs : &sizes->batch;
  const Shape of_conv = {num_seqs, &sizes->conv_dim, &sizes->history};
  const Shape of_scan = {num_seqs, &sizes->nheads, &sizes->headdim, &sizes->dstate};
  CheckShape({"initial_states", &operands.initial_states}, {of_scan}, violations);
  CheckShape({"conv_initial_states", &operands.conv_initial_states}, {of_conv}, violations);
  CheckShape({"final_states", &operands.final_states}, {of_scan}, violations);
  CheckShape({"conv_final_states", &operands.conv_final_states}, {of_conv}, violations);
  CheckStateCount({num_seqs, &sizes->nheads, &sizes->headdim, &sizes->dstate}, violations);
}

void CheckShapes(const Operands& operands, Sizes* sizes, Violations* violations) {
  Size* const nheads = &sizes->nheads;
  CheckShape({"zxbcdt", &operands.zxbcdt}, {{&sizes->batch, &sizes->seqlen, &sizes->num_columns}},
             violations);
  CheckShape({"conv1d_weight", &operands.conv1d_weight}, {{&sizes->conv_dim, &sizes->width}},
             violations);
  CheckConvWidth(sizes->width, violations);
  CheckShape({"A", &operands.A}, {{nheads}}, violations);
  DeriveSizes(operands, operands.ngroups, sizes, violations);
  CheckShape({"conv1d_bias", &operands.conv1d_bias}, {{&sizes->conv_dim}}, violations);
  CheckShape({"dt_bias", &operands.dt_bias}, {{nheads}}, violations);
  CheckShape({"D", &operands.D}, {{nheads}, {nheads, &sizes->headdim}}, violations);
  CheckShape({"rmsnorm_weight", &operands.rmsnorm_weight}, {{&sizes->dim}}, violations);
  CheckSequences({"seq_idx", &operands.seq_idx}, {"cu_seqlens", &operands.cu_seqlens},
                 &sizes->batch, &sizes->seqlen, &sizes->sequences, violations);
  CheckShape({"out", &operands.out}, {{&sizes->batch, &sizes->seqlen, &sizes->dim}}, violations);
  CheckStates(operands, sizes, violations);
}

void CheckDTypes(const Operands& operands, Violations* violations) {
  const NamedView zxbcdt = {"zxbcdt", &operands.zxbcdt};
  const std::string because = DTypeOf(zxbcdt);
  const std::vector<DType> floats = FloatsBeside(operands.zxbcdt);
  CheckDType(zxbcdt, FloatsBeside(TensorView()), "", violations);
  for (const auto& field : Operation<SplitConv1dScanForwardProblem>::kFields) {
    const TensorView& view = operands.*field.view;
    const bool is_index = &view == &operands.seq_idx || &view == &operands.cu_seqlens;
    if (is_index || &view == &operands.zxbcdt) continue;
    const bool is_out = &view == &operands.out && IsReadable(operands.zxbcdt);
    CheckDType({field.name, &view}, is_out ? std::vector{operands.zxbcdt.dtype} : floats, because,
               violations);
    if (field.is_output) CheckDistinctElements({field.name, &view}, violations);
  }
}

void CheckOptions(const tilescan_split_conv1d_scan_forward_args& args, const Size& dim,
                  Violations* violations) {
  if (args.group_size < 0) {
    violations->Add(
        Text("group_size is ", args.group_size, ", expected 0 (dim / ngroups) or more"));
  } else if (args.group_size > 0 && !dim.reason.empty() && dim.value % args.group_size != 0) {
    violations->Add(Text("group_size is ", args.group_size, ", expected a divisor of dim ",
                         dim.value, " because ", dim.reason));
  }
  CheckNormOptions("rmsnorm_eps", args.rmsnorm_eps, args.norm_before_gate, violations);
  CheckActivation(args.activation, violations);
  CheckStepOptions(args.dt_softplus, args.dt_limit, violations);
}

Operands ReadOperands(const tilescan_split_conv1d_scan_forward_args& args, Violations* violations) {
  Operands operands = ReadTensors<SplitConv1dScanForwardProblem>(args, violations);
  operands.ngroups = args.ngroups;
  operands.group_size = args.group_size;
  operands.rmsnorm_eps = args.rmsnorm_eps;
  operands.norm_before_gate = args.norm_before_gate != 0;
  operands.has_silu = args.activation == TILESCAN_ACTIVATION_SILU;
  operands.dt_softplus = args.dt_softplus != 0;
  operands.dt_limit_min = args.dt_limit[0];
  operands.dt_limit_max = args.dt_limit[1];
  return operands;
}

SplitConv1dScanForwardSizes KnownSizes(const Sizes& sizes, const Operands& operands) {
  const bool is_packed = operands.cu_seqlens.present();
  const int64_t ngroups = operands.ngroups < 1 ? 1 : operands.ngroups;
  return {.batch = sizes.batch.value,
          .seqlen = sizes.seqlen.value,
          .nheads = sizes.nheads.value,
          .headdim = sizes.headdim.value,
          .ngroups = ngroups,
          .dstate = sizes.dstate.value,
          .width = sizes.width.value,
          .group_size = operands.group_size == 0 ? sizes.dim.value / ngroups : operands.group_size,
          .num_seqs = is_packed ? sizes.sequences.num_seqs.value : sizes.batch.value};
}

}  // namespace

Validated<SplitConv1dScanForwardProblem> Validate(
    const tilescan_split_conv1d_scan_forward_args& args, Violations* violations) {
  Validated<SplitConv1dScanForwardProblem> validated;
  Operands& operands = validated.described;
  operands = ReadOperands(args, violations);
  Sizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckOptions(args, sizes.dim, violations);
  DropData<SplitConv1dScanForwardProblem>(&operands);
  validated.problem = {KnownSizes(sizes, operands), operands};
  return validated;
}

}  // namespace tilescan::plan
