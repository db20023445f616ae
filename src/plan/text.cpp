#include "plan/text.h"

#include <charconv>

namespace tilescan::plan {
namespace {

// As %g and %d have them in the C locale.
template <typename... Form>
void AppendNumber(std::string* text, Form... form) {
  char digits[32];
  text->append(digits, std::to_chars(digits, digits + sizeof(digits), form...).ptr);
}

}  // namespace

void TextPart::AppendTo(std::string* text) const {
  constexpr int kFloatDigits = 6;
  constexpr int kAddressBase = 16;
  switch (kind_) {
    case Kind::kText:
      text->append(text_);
      break;
    case Kind::kAddress:
      text->append("0x");
      AppendNumber(text, reinterpret_cast<uintptr_t>(address_), kAddressBase);
      break;
    case Kind::kSigned:
      AppendNumber(text, signed_);
      break;
    case Kind::kUnsigned:
      AppendNumber(text, unsigned_);
      break;
    case Kind::kFloat:
      AppendNumber(text, float_, std::chars_format::general, kFloatDigits);
      break;
  }
}

std::string JoinText(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) part.AppendTo(&text);
  return text;
}

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
