#include "testing/target.h"

#include <map>
#include <nlohmann/json.hpp>

namespace tilescan::testing {
namespace {

nlohmann::json LibraryInfo() {
  std::string text(tilescan_info(nullptr, 0), '\0');
  tilescan_info(text.data(), text.size() + 1);
  return nlohmann::json::parse(text);
}

}  // namespace

std::string Target::Name() const {
  std::string name;
  for (const std::string& part : {backend, kernel, instruction_set}) {
    if (part.empty()) continue;
    if (!name.empty()) name += '/';
    name += part;
  }
  return name.empty() ? "default" : name;
}

tilescan_options Target::Options() const {
  const auto name_or_null = [](const std::string& name) {
    return name.empty() ? nullptr : name.c_str();
  };
  tilescan_options options;
  tilescan_options_init(&options);
  options.backend = name_or_null(backend);
  options.kernel = name_or_null(kernel);
  options.instruction_set = name_or_null(instruction_set);
  options.num_threads = num_threads;
  return options;
}

std::vector<Target> AvailableTargets(const std::string& operation) {
  const nlohmann::json info = LibraryInfo();
  std::map<std::string, bool> is_available = {{"", true}};
  for (const auto& instruction_set : info.at("instruction_sets")) {
    is_available[instruction_set.at("name")] = instruction_set.at("available");
  }
  std::vector<Target> targets;
  for (const auto& backend : info.at("backends")) {
    for (const auto& kernel : backend.at("kernels")) {
      const std::string instruction_set = kernel.at("instruction_set");
      if (kernel.at("operation") != operation || !is_available.at(instruction_set)) continue;
      Target target;
      target.backend = backend.at("name");
      target.kernel = kernel.at("kernel");
      target.instruction_set = instruction_set;
      targets.push_back(target);
    }
  }
  return targets;
}

}  // namespace tilescan::testing
