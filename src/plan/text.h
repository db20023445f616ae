// Text of messages.
#ifndef TILESCAN_PLAN_TEXT_H_
#define TILESCAN_PLAN_TEXT_H_

#include <cstdint>
#include <locale>
#include <span>
#include <sstream>
#include <string>

#include "core/tensor_view.h"

namespace tilescan::plan {

// The parts one after another, numbers as in C whatever the program's locale.
template <typename... Parts>
std::string Text(const Parts&... parts) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  (stream << ... << parts);
  return stream.str();
}

// "(2, 4096, 80, 64)".
std::string TupleText(std::span<const int64_t> values);
std::string ShapeText(const TensorView& view);
std::string StridesText(const TensorView& view);

// "a", "a or b", "a, b or c" with or as last_separator.
std::string ListText(std::span<const std::string> items, const char* last_separator);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_TEXT_H_
