#include "testing/target.h"

#include <map>
#include <nlohmann/json.hpp>

#include "testing/device_memory.h"

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

bool Target::IsOnDevice() const { return testing::IsOnDevice(backend.c_str()); }

std::vector<Target> AllTargets(const std::string& operation) {
  // Its parts' kernels, of which options name the scan's.
  if (operation == "split_conv1d_scan_forward") return AllTargets("scan_forward");
  const nlohmann::json info = LibraryInfo();
  std::map<std::string, bool> is_available = {{"", true}};
  for (const auto& instruction_set : info.at("instruction_sets")) {
    is_available[instruction_set.at("name")] = instruction_set.at("available");
  }
  std::vector<Target> targets;
  const bool has_gpu = info.at("cuda").at("available");
  for (const auto& backend : info.at("backends")) {
    if (testing::IsOnDevice(backend.at("name").get<std::string>().c_str()) && !has_gpu) continue;
    for (const auto& kernel : backend.at("kernels")) {
      const std::string instruction_set = kernel.at("instruction_set");
      if (kernel.at("operation") != operation || !is_available.at(instruction_set)) continue;
      if (kernel.at("kernel") == "chunked_amx" && !info.at("cpu").at("amx")) continue;
      Target target;
      target.backend = backend.at("name");
      target.kernel = kernel.at("kernel");
      target.instruction_set = instruction_set;
      target.is_general = kernel.at("is_general");
      targets.push_back(target);
    }
  }
  return targets;
}

std::vector<Target> AvailableTargets(const std::string& operation) {
  std::vector<Target> targets = AllTargets(operation);
  std::erase_if(targets, [](const Target& target) { return !target.is_general; });
  return targets;
}

std::vector<Target> HostTargets(const std::string& operation) {
  std::vector<Target> targets = AvailableTargets(operation);
  std::erase_if(targets, [](const Target& target) { return target.IsOnDevice(); });
  return targets;
}

std::vector<Target> TargetsOfSomeDType(const std::string& operation) {
  std::vector<Target> targets = AllTargets(operation);
  std::erase_if(targets,
                [](const Target& target) { return !target.is_general && target.IsOnDevice(); });
  return targets;
}

std::vector<DType> DTypesOf(const Target& target) {
  if (!target.is_general) return {DType::kBFloat16};
  return {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
}

DType WidestDType(const Target& target) { return DTypesOf(target).front(); }

}  // namespace tilescan::testing
