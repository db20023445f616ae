#include "plan/check_operands.h"

#include <algorithm>

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

void CheckStepOptions(int32_t dt_softplus, const float dt_limit[2], Violations* violations) {
  if (dt_softplus != 0 && dt_softplus != 1) {
    violations->Add(Text("dt_softplus is ", dt_softplus, ", expected 0 or 1"));
  }
  const bool is_ordered = dt_limit[0] <= dt_limit[1];  // false for NaN
  if (!is_ordered) {
    violations->Add(Text("dt_limit is (", dt_limit[0], ", ", dt_limit[1],
                         "), expected two numbers, the smaller first"));
  }
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
