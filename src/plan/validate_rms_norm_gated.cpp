// Checks of the gated RMSNorm, and its normal form. The rules are those of
// include/tilescan/layer.h.
#include "plan/check_operands.h"
#include "plan/read_operands.h"
#include "plan/text.h"
#include "plan/validate.h"

namespace tilescan::plan {
namespace {

using Operands = RmsNormGatedForwardOperands;

struct Sizes {
  Size batch{"batch"};
  Size seqlen{"seqlen"};
  Size dim{"dim", 1};
};

constexpr int kNdimWithTokens = 3;  // of x

bool HasTokenDimension(const Operands& operands) { return operands.x.ndim == kNdimWithTokens; }

void CheckShapes(const Operands& operands, Sizes* sizes, Violations* violations) {
  const Shape as_x_without = {&sizes->batch, &sizes->dim};
  const Shape as_x_with = {&sizes->batch, &sizes->seqlen, &sizes->dim};
  CheckShape({"x", &operands.x}, {as_x_without, as_x_with}, violations);
  CheckShape({"weight", &operands.weight}, {{&sizes->dim}}, violations);
  CheckShape({"bias", &operands.bias}, {{&sizes->dim}}, violations);
  const Shape as_x = HasTokenDimension(operands) ? as_x_with : as_x_without;
  CheckShape({"z", &operands.z}, {as_x}, violations);
  CheckShape({"out", &operands.out}, {as_x}, violations);
}

void CheckDTypes(const Operands& operands, Violations* violations) {
  const NamedView x = {"x", &operands.x};
  const std::string because_x = DTypeOf(x);
  const std::vector<DType> floats = FloatsBeside(operands.x);
  CheckDType(x, FloatsBeside(TensorView()), "", violations);
  CheckDType({"weight", &operands.weight}, floats, because_x, violations);
  CheckDType({"bias", &operands.bias}, floats, because_x, violations);
  CheckDType({"z", &operands.z}, floats, because_x, violations);
  CheckDType({"out", &operands.out}, floats, because_x, violations);
}

// What options ask for, once dim is known.
void CheckOptions(const tilescan_rms_norm_gated_forward_args& args, const Size& dim,
                  Violations* violations) {
  if (args.group_size < 0) {
    violations->Add(Text("group_size is ", args.group_size, ", expected 0 (dim) or more"));
  } else if (args.group_size > 0 && dim.value > 0 && dim.value % args.group_size != 0) {
    violations->Add(Text("group_size is ", args.group_size, ", expected a divisor of dim ",
                         dim.value, " because ", dim.source.name, " is ",
                         ShapeText(*dim.source.view)));
  }
  CheckNormOptions("eps", args.eps, args.norm_before_gate, violations);
}

Operands NormalForm(const Operands& described) {
  Operands operands = described;
  if (HasTokenDimension(described)) return operands;
  for (TensorView* view : {&operands.x, &operands.z, &operands.out}) InsertTokenDimension(view);
  return operands;
}

}  // namespace

Validated<RmsNormGatedForwardProblem> Validate(const tilescan_rms_norm_gated_forward_args& args,
                                               Violations* violations) {
  Validated<RmsNormGatedForwardProblem> validated;
  Operands& operands = validated.described;
  operands = ReadTensors<RmsNormGatedForwardProblem>(args, violations);
  operands.group_size = args.group_size;
  operands.eps = args.eps;
  operands.norm_before_gate = args.norm_before_gate != 0;

  Sizes sizes;
  CheckShapes(operands, &sizes, violations);
  CheckDTypes(operands, violations);
  CheckDistinctElements({"out", &operands.out}, violations);
  CheckOptions(args, sizes.dim, violations);

  DropData<RmsNormGatedForwardProblem>(&operands);
  validated.problem = {{.batch = sizes.batch.value,
                        .seqlen = HasTokenDimension(operands) ? sizes.seqlen.value : 1,
                        .dim = sizes.dim.value,
                        .group_size = args.group_size == 0 ? sizes.dim.value : args.group_size},
                       NormalForm(operands)};
  return validated;
}

}  // namespace tilescan::plan
