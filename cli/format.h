// Figures as people read them.
#ifndef TILESCAN_CLI_FORMAT_H_
#define TILESCAN_CLI_FORMAT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tilescan::cli {

// Three significant digits and a unit: "1.92 MiB", "845 us".
std::string BytesText(double bytes);
std::string TimeText(double microseconds);
// "1.23e-07"
std::string ErrorText(double error);
// Three significant digits, no exponent: "12.3", "1230".
std::string FigureText(double value);

// A label padded to the width of a column, then the text.
std::string Row(const std::string& label, const std::string& text);

// A report as files hold it. Text that is no UTF-8, as paths may be, is replaced.
std::string JsonText(const nlohmann::ordered_json& report);

// A JSON value as plain text: strings without quotes, "name value, name value" for an object.
std::string PlainText(const nlohmann::ordered_json& value);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_FORMAT_H_
