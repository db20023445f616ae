// Text of messages.
#ifndef TILESCAN_PLAN_TEXT_H_
#define TILESCAN_PLAN_TEXT_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/tensor_view.h"

namespace tilescan::plan {

template <typename T>
concept TextNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, char>;

// A part of a text: characters, a number, or an address. Its code is compiled once, not for each
// list of parts.
class TextPart {
 public:
  // Implicit, for JoinText().
  // NOLINTBEGIN(google-explicit-constructor)
  TextPart(std::string_view text) : kind_(Kind::kText), text_(text) {}
  TextPart(const char* text) : TextPart(std::string_view(text)) {}
  TextPart(const std::string& text) : TextPart(std::string_view(text)) {}
  TextPart(const void* address) : kind_(Kind::kAddress), address_(address) {}
  template <TextNumber T>
  TextPart(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::kFloat;
      float_ = number;
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::kSigned;
      signed_ = number;
    } else {
      kind_ = Kind::kUnsigned;
      unsigned_ = number;
    }
  }
  // NOLINTEND(google-explicit-constructor)

  void AppendTo(std::string* text) const;

 private:
  enum class Kind { kText, kAddress, kSigned, kUnsigned, kFloat };
  Kind kind_;
  union {
    std::string_view text_;
    const void* address_;
    int64_t signed_;
    uint64_t unsigned_;
    double float_;
  };
};

std::string JoinText(std::initializer_list<TextPart> parts);

// The parts one after another, numbers as in C whatever the program's locale.
template <typename... Parts>
std::string Text(const Parts&... parts) {
  return JoinText({TextPart(parts)...});
}

// "(2, 4096, 80, 64)".
std::string TupleText(std::span<const int64_t> values);
std::string ShapeText(const TensorView& view);
std::string StridesText(const TensorView& view);

// "a", "a or b", "a, b or c" with or as last_separator.
std::string ListText(std::span<const std::string> items, const char* last_separator);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_TEXT_H_
