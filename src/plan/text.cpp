#include "plan/text.h"

namespace tilescan::plan {

std::string TupleText(std::span<const int64_t> values) {
  std::string text = "(";
  for (size_t idx = 0; idx < values.size(); ++idx) {
    if (idx > 0) text += ", ";
    text += std::to_string(values[idx]);
  }
  return text + ")";
}

std::string ShapeText(const TensorView& view) {
  return TupleText(std::span(view.shape).first(static_cast<size_t>(view.ndim)));
}

std::string StridesText(const TensorView& view) {
  return TupleText(std::span(view.strides).first(static_cast<size_t>(view.ndim)));
}

std::string ListText(std::span<const std::string> items, const char* last_separator) {
  std::string text;
  for (size_t idx = 0; idx < items.size(); ++idx) {
    if (idx > 0) text += idx + 1 == items.size() ? Text(" ", last_separator, " ") : ", ";
    text += items[idx];
  }
  return text;
}

}  // namespace tilescan::plan
