// Checks of the forward scan. The rules are those of include/tilescan/tilescan.h.
#include "plan/check_operands.h"
#include "plan/read_operands.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

using Operands = ScanForwardOperands;

struct Sizes {
  Size batch{"batch"};
  Size seqlen{"seqlen"};
  Size nheads{"nheads", 1};
  Size headdim{"headdim", 1};
  Size ngroups{"ngroups", 1};
  Size dstate{"dstate", 1};
  SequenceSizes sequences;
  Size states_rows{"seqlen / states_every"};
};

void CheckStatesOut(const Operands& operands, Sizes* sizes, Violations* violations) {
  const int64_t states_every = operands.states_every;
  if (!operands.states_out.present()) {
    if (states_every != 0) {
      violations->Add(
          Text("states_every is ", states_every, ", expected 0 because states_out is absent"));
    }
    return;
  }
  const bool is_packed = operands.cu_seqlens.present();
  Size* rows = &sizes->states_rows;
  if (is_packed) rows->name = "seqlen / states_every + num_seqs";
  if (states_every < 1) {
    violations->Add(
        Text("states_every is ", states_every, ", expected 1 or more because states_out is given"));
  } else if (sizes->seqlen.is_known() && (!is_packed || sizes->sequences.num_seqs.is_known())) {
    rows->value =
        sizes->seqlen.value / states_every + (is_packed ? sizes->sequences.num_seqs.value : 0);
    rows->reason = Text("seqlen is ", sizes->seqlen.value, " and states_every is ", states_every);
    if (is_packed) rows->reason += Text(" and num_seqs is ", sizes->sequences.num_seqs.value);
  }
  CheckShape({"states_out", &operands.states_out},
             {{&sizes->batch, rows, &sizes->nheads, &sizes->headdim, &sizes->dstate}}, violations);
}

void CheckShapes(const Operands& operands, Sizes* sizes, Violations* violations) {
  Size* const nheads = &sizes->nheads;
  const Shape as_x = {&sizes->batch, &sizes->seqlen, nheads, &sizes->headdim};
  const Shape as_B = {&sizes->batch, &sizes->seqlen, &sizes->ngroups, &sizes->dstate};
  CheckShape({"x", &operands.x}, {as_x}, violations);
  CheckShape({"dt", &operands.dt}, {{&sizes->batch, &sizes->seqlen, nheads}}, violations);
  CheckShape({"A", &operands.A}, {{nheads}}, violations);
  CheckShape({"B", &operands.B}, {as_B}, violations);
  CheckShape({"C", &operands.C}, {as_B}, violations);
  CheckGroups(sizes->nheads, sizes->ngroups, violations);
  CheckShape({"D", &operands.D}, {{nheads}, {nheads, &sizes->headdim}}, violations);
  CheckShape({"z", &operands.z}, {as_x}, violations);
  CheckShape({"dt_bias", &operands.dt_bias}, {{nheads}}, violations);
  CheckSequences({"seq_idx", &operands.seq_idx}, {"cu_seqlens", &operands.cu_seqlens},
                 &sizes->batch, &sizes->seqlen, &sizes->sequences, violations);
  Size* const num_seqs = operands.cu_seqlens.present() ? &sizes->sequences.num_seqs : &sizes->batch;
  const Shape as_states = {num_seqs, nheads, &sizes->headdim, &sizes->dstate};
  CheckShape({"initial_states", &operands.initial_states}, {as_states}, violations);
  CheckShape({"out", &operands.out}, {as_x}, violations);
  CheckShape({"final_states", &operands.final_states}, {as_states}, violations);
  CheckStatesOut(operands, sizes, violations);
  CheckStateCount({num_seqs, nheads, &sizes->headdim, &sizes->dstate}, violations);
}

void CheckDTypes(const Operands& operands, Violations* violations) {
  const NamedView x = {"x", &operands.x};
  const std::string because_x = DTypeOf(x);
  const std::vector<DType> floats = FloatsBeside(operands.x);
  const auto readable_or = [](const TensorView& view, const std::vector<DType>& otherwise) {
    return IsReadable(view) ? std::vector<DType>{view.dtype} : otherwise;
  };
  const std::vector<DType> of_x = readable_or(operands.x, floats);
  std::vector<DType> of_B = of_x;
  const bool is_x_half = of_x.front() == DType::kBFloat16 || of_x.front() == DType::kFloat16;
  if (is_x_half) of_B.push_back(DType::kFloat32);

  CheckDType(x, FloatsBeside(TensorView()), "", violations);
  CheckDType({"dt", &operands.dt}, floats, because_x, violations);
  CheckDType({"A", &operands.A}, floats, because_x, violations);
  CheckDType({"B", &operands.B}, of_B, because_x, violations);
  const bool is_B_known = IsReadable(operands.B);
  CheckDType({"C", &operands.C}, readable_or(operands.B, of_B),
             is_B_known ? DTypeOf({"B", &operands.B}) : because_x, violations);
  CheckDType({"D", &operands.D}, floats, because_x, violations);
  CheckDType({"z", &operands.z}, of_x, because_x, violations);
  CheckDType({"dt_bias", &operands.dt_bias}, floats, because_x, violations);
  CheckDType({"initial_states", &operands.initial_states}, floats, because_x, violations);
  CheckDType({"out", &operands.out}, of_x, because_x, violations);
  CheckDType({"final_states", &operands.final_states}, floats, because_x, violations);
  CheckDType({"states_out", &operands.states_out}, floats, because_x, violations);
}

ScanSizes KnownSizes(const Sizes& sizes, bool is_packed) {
  return {.batch = sizes.batch.value,
          .seqlen = sizes.seqlen.value,
          .nheads = sizes.nheads.value,
          .headdim = sizes.headdim.value,
          .ngroups = sizes.ngroups.value,
          .dstate = sizes.dstate.value,
          .num_seqs = is_packed ? sizes.sequences.num_seqs.value : sizes.batch.value};
}

}  // namespace

Validated<ScanForwardProblem> Validate(const tilescan_scan_forward_args& args,
                                       Violations* violations) {
  Validated<ScanForwardProblem> validated;
  Operands& operands = validated.described;
  operands = ReadTensors<ScanForwardProblem>(args, violations);
  operands.states_every = args.states_every;
  operands.dt_softplus = args.dt_softplus != 0;
  operands.dt_limit_min = args.dt_limit[0];
  operands.dt_limit_max = args.dt_limit[1];

  Sizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckDistinctElements({"out", &operands.out}, violations);
  CheckDistinctElements({"final_states", &operands.final_states}, violations);
  CheckDistinctElements({"states_out", &operands.states_out}, violations);
  CheckStepOptions(args.dt_softplus, args.dt_limit, violations);

  DropData<ScanForwardProblem>(&operands);
  validated.problem = {KnownSizes(sizes, operands.cu_seqlens.present()), operands};
  return validated;
}

}  // namespace tilescan::plan
