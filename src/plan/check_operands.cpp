#include "plan/check_operands.h"

#include <algorithm>
#include <cmath>

#include "core/causal_conv1d.h"
#include "plan/layout.h"
#include "plan/read_operands.h"
#include "plan/text.h"

namespace tilescan::plan {
namespace {

// Numbers where the size is known, else its name.
std::string ExpectedText(const Shape& shape) {
  std::string text = "(";
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (dim > 0) text += ", ";
    text += shape[dim]->is_known() ? std::to_string(shape[dim]->value) : shape[dim]->name;
  }
  return text + ")";
}

std::string ReasonText(const Size& size) {
  if (!size.reason.empty() || size.source.view == nullptr) return size.reason;
  return Text(size.source.name, " is ", ShapeText(*size.source.view));
}

// " because x is (2, 4096, 80, 64) and B is (2, 4096, 8, 128)": what set the sizes.
std::string BecauseText(const std::vector<const Size*>& sizes) {
  std::vector<std::string> reasons;
  for (const Size* size : sizes) {
    const std::string reason = ReasonText(*size);
    if (reason.empty() || std::find(reasons.begin(), reasons.end(), reason) != reasons.end()) {
      continue;
    }
    reasons.push_back(reason);
  }
  return reasons.empty() ? "" : " because " + ListText(reasons, "and");
}

void ReportShape(const NamedView& operand, const std::vector<Shape>& expected,
                 const std::vector<const Size*>& blamed, Violations* violations) {
  std::vector<std::string> alternatives;
  alternatives.reserve(expected.size());
  for (const Shape& shape : expected) alternatives.push_back(ExpectedText(shape));
  violations->Add(Text(operand.name, " has shape ", ShapeText(*operand.view), ", expected ",
                       ListText(alternatives, "or"), BecauseText(blamed)));
}

void SetSizes(const NamedView& operand, const Shape& shape, Violations* violations) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    Size* size = shape[dim];
    if (size->is_known()) continue;
    size->value = operand.view->shape[dim];
    size->source = operand;
    if (size->value < size->minimum) {
      violations->Add(Text(operand.name, " has shape ", ShapeText(*operand.view), ", expected ",
                           size->name, " >= ", size->minimum));
    }
  }
}

}  // namespace

void CheckShape(const NamedView& operand, const std::vector<Shape>& expected,
                Violations* violations) {
  if (!IsReadable(*operand.view)) return;
  for (const Shape& shape : expected) {
    if (shape.size() != static_cast<size_t>(operand.view->ndim)) continue;
    std::vector<const Size*> mismatched;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (shape[dim]->is_known() && shape[dim]->value != operand.view->shape[dim]) {
        mismatched.push_back(shape[dim]);
      }
    }
    if (mismatched.empty()) {
      SetSizes(operand, shape, violations);
    } else {
      ReportShape(operand, {shape}, mismatched, violations);
    }
    return;
  }
  ReportShape(operand, expected, {}, violations);
}

void CheckDType(const NamedView& operand, const std::vector<DType>& allowed,
                const std::string& because, Violations* violations) {
  if (!IsReadable(*operand.view)) return;
  const DType dtype = operand.view->dtype;
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) return;
  std::vector<std::string> names;
  names.reserve(allowed.size());
  for (const DType option : allowed) names.push_back(DTypeName(option));
  violations->Add(Text(operand.name, " has dtype ", DTypeName(dtype), ", expected ",
                       ListText(names, "or"), because.empty() ? "" : " because " + because));
}

void CheckDistinctElements(const NamedView& output, Violations* violations) {
  if (!IsReadable(*output.view) || !MayOverlapItself(*output.view)) return;
  violations->Add(Text(output.name, " has shape ", ShapeText(*output.view), " and strides ",
                       StridesText(*output.view),
                       ", expected strides that give each element of an output its own place"));
}

void CheckSequences(const NamedView& seq_idx, const NamedView& cu_seqlens, Size* batch,
                    Size* seqlen, SequenceSizes* sizes, Violations* violations) {
  CheckShape(seq_idx, {{batch, seqlen}}, violations);
  CheckDType(seq_idx, {DType::kInt32}, "", violations);
  CheckShape(cu_seqlens, {{&sizes->cu_seqlens_length}}, violations);
  CheckDType(cu_seqlens, {DType::kInt32, DType::kInt64}, "", violations);
  if (!cu_seqlens.view->present()) return;
  if (seq_idx.view->present()) {
    violations->Add("seq_idx and cu_seqlens are both given, expected at most one of them");
  }
  if (batch->is_known() && batch->value != 1) {
    violations->Add(Text(batch->source.name, " has batch ", batch->value,
                         ", expected 1 because cu_seqlens is given"));
  }
  if (sizes->cu_seqlens_length.value > 0) {
    sizes->num_seqs.value = sizes->cu_seqlens_length.value - 1;
    sizes->num_seqs.source = cu_seqlens;
  }
}

void InsertTokenDimension(TensorView* view) {
  if (!IsReadable(*view) || view->ndim >= TILESCAN_MAX_NDIM) return;
  for (int dim = view->ndim; dim > 1; --dim) {
    view->shape[dim] = view->shape[dim - 1];
    view->strides[dim] = view->strides[dim - 1];
  }
  view->shape[1] = 1;
  view->strides[1] = 0;
  ++view->ndim;
}

void CheckGroups(const Size& nheads, const Size& ngroups, Violations* violations) {
  if (nheads.value < 1 || ngroups.value < 1 || nheads.value % ngroups.value == 0) return;
  violations->Add(Text(ngroups.source.name, " has ngroups ", ngroups.value,
                       ", expected a divisor of nheads ", nheads.value, " because ",
                       nheads.source.name, " is ", ShapeText(*nheads.source.view)));
}

void CheckStateCount(const std::vector<const Size*>& sizes, Violations* violations) {
  int64_t count = 1;
  bool is_too_large = false;
  std::vector<std::string> factors;
  for (const Size* size : sizes) {
    if (!size->is_known()) return;
    factors.push_back(Text(size->name, " ", size->value));
    is_too_large = is_too_large ||
                   __builtin_mul_overflow(count, std::max<int64_t>(size->value, 1), &count) ||
                   count > kMaxElements;
  }
  if (!is_too_large) return;
  violations->Add(
      Text("the states of ", ListText(factors, "and"), " have more than 2^46 elements"));
}

void CheckFlag(const char* name, int32_t value, Violations* violations) {
  if (value == 0 || value == 1) return;
  violations->Add(Text(name, " is ", value, ", expected 0 or 1"));
}

void CheckStepOptions(int32_t dt_softplus, const float dt_limit[2], Violations* violations) {
  CheckFlag("dt_softplus", dt_softplus, violations);
  const bool is_ordered = dt_limit[0] <= dt_limit[1];  // false for NaN
  if (!is_ordered) {
    violations->Add(Text("dt_limit is (", dt_limit[0], ", ", dt_limit[1],
                         "), expected two numbers, the smaller first"));
  }
}

void CheckConvWidth(const Size& width, Violations* violations) {
  if (!width.is_known() || (width.value >= kLeastConvWidth && width.value <= kMostConvWidth)) {
    return;
  }
  violations->Add(Text(width.source.name, " has shape ", ShapeText(*width.source.view),
                       ", expected width ", kLeastConvWidth, " to ", kMostConvWidth));
}

void CheckActivation(int32_t activation, Violations* violations) {
  if (activation == TILESCAN_ACTIVATION_NONE || activation == TILESCAN_ACTIVATION_SILU) return;
  violations->Add(Text("activation is ", activation, ", expected TILESCAN_ACTIVATION_NONE (",
                       TILESCAN_ACTIVATION_NONE, ") or TILESCAN_ACTIVATION_SILU (",
                       TILESCAN_ACTIVATION_SILU, ")"));
}

void CheckNormOptions(const char* eps_name, float eps, int32_t norm_before_gate,
                      Violations* violations) {
  if (!(eps >= 0.0f) || std::isinf(eps)) {
    violations->Add(Text(eps_name, " is ", eps, ", expected a finite number, 0 or more"));
  }
  CheckFlag("norm_before_gate", norm_before_gate, violations);
}

std::vector<DType> FloatsBeside(const TensorView& x) {
  std::vector<DType> floats = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  if (!IsReadable(x) || x.dtype == DType::kFloat64) floats.push_back(DType::kFloat64);
  return floats;
}

std::string DTypeOf(const NamedView& operand) {
  if (!IsReadable(*operand.view)) return "";
  return Text(operand.name, " is ", DTypeName(operand.view->dtype));
}

}  // namespace tilescan::plan
