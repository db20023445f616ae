// Checks of the decoding step, and its normal form. The rules are those of
// include/tilescan/tilescan.h.
#include "plan/check_operands.h"
#include "plan/read_operands.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

using Operands = StateUpdateOperands;

struct Sizes {
  Size batch{"batch"};
  Size num_tokens{"T", 1};
  Size num_slots{"slots"};
  Size nheads{"nheads", 1};
  Size headdim{"headdim", 1};
  Size ngroups{"ngroups", 1};
  Size dstate{"dstate", 1};
};

constexpr int kNdimWithTokens = 4;  // of x

bool HasTokenDimension(const Operands& operands) { return operands.x.ndim == kNdimWithTokens; }

// Shapes of the operands that follow x in having a token dimension or not.
void CheckTokenShapes(const Operands& operands, Sizes* sizes, Violations* violations) {
  if (!IsReadable(operands.x)) return;
  Size* const batch = &sizes->batch;
  Size* const num_tokens = &sizes->num_tokens;
  Size* const nheads = &sizes->nheads;
  const Shape as_x_without = {batch, nheads, &sizes->headdim};
  const Shape as_x_with = {batch, num_tokens, nheads, &sizes->headdim};
  CheckShape({"x", &operands.x}, {as_x_without, as_x_with}, violations);
  const bool has_tokens = HasTokenDimension(operands);
  if (!has_tokens && static_cast<size_t>(operands.x.ndim) != as_x_without.size()) return;

  Shape as_x = as_x_without;
  Shape as_dt = {batch, nheads};
  Shape as_B = {batch, &sizes->ngroups, &sizes->dstate};
  if (has_tokens) {
    as_x = as_x_with;
    as_dt.insert(as_dt.begin() + 1, num_tokens);
    as_B.insert(as_B.begin() + 1, num_tokens);
  }
  Shape as_expanded_dt = as_dt;
  as_expanded_dt.push_back(&sizes->headdim);
  CheckShape({"dt", &operands.dt}, {as_dt, as_expanded_dt}, violations);
  CheckShape({"B", &operands.B}, {as_B}, violations);
  CheckShape({"C", &operands.C}, {as_B}, violations);
  CheckShape({"z", &operands.z}, {as_x}, violations);
  CheckShape({"out", &operands.out}, {as_x}, violations);
}

void CheckShapes(const Operands& operands, Sizes* sizes, Violations* violations) {
  Size* const nheads = &sizes->nheads;
  Size* const headdim = &sizes->headdim;
  CheckTokenShapes(operands, sizes, violations);
  const bool has_indices = operands.state_batch_indices.present();
  Size* const num_slots = has_indices ? &sizes->num_slots : &sizes->batch;
  CheckShape({"state", &operands.state}, {{num_slots, nheads, headdim, &sizes->dstate}},
             violations);
  CheckShape({"A", &operands.A}, {{nheads}, {nheads, headdim, &sizes->dstate}}, violations);
  CheckShape({"D", &operands.D}, {{nheads}, {nheads, headdim}}, violations);
  CheckShape({"dt_bias", &operands.dt_bias}, {{nheads}, {nheads, headdim}}, violations);
  CheckShape({"state_batch_indices", &operands.state_batch_indices}, {{&sizes->batch}}, violations);
  CheckShape({"fresh", &operands.fresh}, {{&sizes->batch}}, violations);
  CheckShape({"num_accepted", &operands.num_accepted}, {{&sizes->batch}}, violations);
  CheckGroups(sizes->nheads, sizes->ngroups, violations);
  CheckStateCount({num_slots, nheads, headdim, &sizes->dstate}, violations);
}

void CheckDTypes(const Operands& operands, Violations* violations) {
  const NamedView x = {"x", &operands.x};
  const std::string because_x = DTypeOf(x);
  const std::vector<DType> floats = FloatsBeside(operands.x);
  // A float64 x is for the reference: what is multiplied with it, and out, are float64 too.
  const bool is_x_float64 = IsReadable(operands.x) && operands.x.dtype == DType::kFloat64;
  const std::vector<DType> beside_x = is_x_float64 ? std::vector{DType::kFloat64} : floats;

  CheckDType({"state", &operands.state}, floats, because_x, violations);
  CheckDType(x, FloatsBeside(TensorView()), "", violations);
  CheckDType({"dt", &operands.dt}, floats, because_x, violations);
  CheckDType({"A", &operands.A}, floats, because_x, violations);
  CheckDType({"B", &operands.B}, beside_x, because_x, violations);
  CheckDType({"C", &operands.C}, beside_x, because_x, violations);
  CheckDType({"D", &operands.D}, floats, because_x, violations);
  CheckDType({"z", &operands.z}, beside_x, because_x, violations);
  CheckDType({"dt_bias", &operands.dt_bias}, floats, because_x, violations);
  CheckDType({"state_batch_indices", &operands.state_batch_indices}, {DType::kInt32, DType::kInt64},
             "", violations);
  CheckDType({"fresh", &operands.fresh}, {DType::kBool, DType::kUInt8}, "", violations);
  CheckDType({"num_accepted", &operands.num_accepted}, {DType::kInt32}, "", violations);
  CheckDType({"out", &operands.out}, beside_x, because_x, violations);
}

// Where an operand of ndim dimensions came expanded by num_added more, drops those, along which the
// value must not change.
void DropExpanded(const char* name, int ndim, int num_added, TensorView* view,
                  Violations* violations) {
  if (!IsReadable(*view) || view->ndim != ndim + num_added) return;
  for (int dim = ndim; dim < view->ndim; ++dim) {
    if (view->strides[dim] == 0) continue;
    violations->Add(Text(name, " has shape ", ShapeText(*view), " and strides ", StridesText(*view),
                         ", expected stride 0 from dimension ", ndim,
                         " on: a value per channel is Mamba-1's, Mamba-2 has one per head"));
    return;
  }
  for (int dim = ndim; dim < view->ndim; ++dim) view->shape[dim] = view->strides[dim] = 0;
  view->ndim = ndim;
}

Operands NormalForm(const Operands& described, Violations* violations) {
  Operands operands = described;
  const bool has_tokens = HasTokenDimension(described);
  DropExpanded("A", 1, 2, &operands.A, violations);
  DropExpanded("dt_bias", 1, 1, &operands.dt_bias, violations);
  DropExpanded("dt", has_tokens ? 3 : 2, 1, &operands.dt, violations);
  if (has_tokens) return operands;
  for (TensorView* view :
       {&operands.x, &operands.dt, &operands.B, &operands.C, &operands.z, &operands.out}) {
    InsertTokenDimension(view);
  }
  return operands;
}

StateUpdateSizes KnownSizes(const Sizes& sizes, const Operands& described) {
  const bool has_indices = described.state_batch_indices.present();
  return {.batch = sizes.batch.value,
          .num_tokens = HasTokenDimension(described) ? sizes.num_tokens.value : 1,
          .num_slots = has_indices ? sizes.num_slots.value : sizes.batch.value,
          .nheads = sizes.nheads.value,
          .headdim = sizes.headdim.value,
          .ngroups = sizes.ngroups.value,
          .dstate = sizes.dstate.value};
}

}  // namespace

Validated<StateUpdateProblem> Validate(const tilescan_state_update_args& args,
                                       Violations* violations) {
  Validated<StateUpdateProblem> validated;
  Operands& operands = validated.described;
  operands = ReadTensors<StateUpdateProblem>(args, violations);
  operands.dt_softplus = args.dt_softplus != 0;
  operands.dt_limit_min = args.dt_limit[0];
  operands.dt_limit_max = args.dt_limit[1];

  Sizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckDistinctElements({"state", &operands.state}, violations);
  CheckDistinctElements({"out", &operands.out}, violations);
  CheckStepOptions(args.dt_softplus, args.dt_limit, violations);

  DropData<StateUpdateProblem>(&operands);
  validated.problem = {KnownSizes(sizes, operands), NormalForm(operands, violations)};
  return validated;
}

}  // namespace tilescan::plan
