// A plan's description for people.
#ifndef TILESCAN_CLI_PLAN_TEXT_H_
#define TILESCAN_CLI_PLAN_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tilescan::cli {

// "cpu/chunked/avx2" of a description, or of a row of its "rejected".
std::string KernelText(const nlohmann::ordered_json& row);
// What would run and why, a row each.
std::string PlanText(const nlohmann::ordered_json& description);
// The kernels that were not taken, with the reason; a row each.
std::string RejectedText(const nlohmann::ordered_json& description);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_PLAN_TEXT_H_
