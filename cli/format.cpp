#include "cli/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

namespace tilescan::cli {
namespace {

std::string Print(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// value in the largest unit that leaves it at least 1.
std::string WithUnit(double value, double step, std::span<const char* const> units) {
  size_t unit_idx = 0;
  while (unit_idx + 1 < units.size() && value >= step) {
    value /= step;
    ++unit_idx;
  }
  return FigureText(value) + " " + units[unit_idx];
}

}  // namespace

std::string FigureText(double value) {
  if (value == 0 || !std::isfinite(value) || std::fabs(value) >= 100) return Print("%.0f", value);
  return Print(std::fabs(value) >= 10 ? "%.1f" : std::fabs(value) >= 1 ? "%.2f" : "%.3f", value);
}

std::string BytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return Print("%.0f bytes", bytes);
  return WithUnit(bytes, 1024, kUnits);
}

std::string TimeText(double microseconds) {
  constexpr std::array<const char*, 3> kUnits = {"us", "ms", "s"};
  return WithUnit(microseconds, 1000, kUnits);
}

std::string ErrorText(double error) { return Print("%.2e", error); }

std::string Row(const std::string& label, const std::string& text) {
  constexpr size_t kLabelWidth = 18;
  std::string row = label;
  row.resize(std::max(kLabelWidth, label.size() + 1), ' ');
  return row + text + "\n";
}

std::string JsonText(const nlohmann::ordered_json& report) {
  using Json = nlohmann::ordered_json;
  return report.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string PlainText(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, item] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += key + " ";
    text += PlainText(item);
  }
  return text;
}

}  // namespace tilescan::cli
