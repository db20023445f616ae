#include "testing/environment.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "testing/device_memory.h"
#include "tilescan/tilescan.hpp"

namespace tilescan::testing {
namespace {

std::string KernelRelease() {
  utsname names = {};
  if (uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + " " + names.release;
}

// "family 25 model 1": many processors share one name.
std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  std::string family;
  std::string model;
  for (std::string line; std::getline(info, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.rfind("cpu family", 0) == 0) family = value;
    if (line.rfind("model\t", 0) == 0) model = value;
  }
  return family.empty() || model.empty() ? "" : "family " + family + " model " + model;
}

std::string UtcDate() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm fields = {};
  gmtime_r(&now, &fields);
  char text[sizeof("2026-11-30T08:15:00Z")];
  const size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &fields);
  return std::string(text, length);
}

// What the driver's tool says of the current GPU, one text a field; nothing if it does not.
std::vector<std::string> AskDriver(const std::vector<std::string>& fields) {
  std::string command = "nvidia-smi --id=" + DeviceBusId() + " --format=csv,noheader --query-gpu=";
  for (const std::string& field : fields) command += (field == fields[0] ? "" : ",") + field;
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string line;
  for (int letter = std::fgetc(pipe); letter != EOF && letter != '\n'; letter = std::fgetc(pipe)) {
    line += static_cast<char>(letter);
  }
  if (pclose(pipe) != 0) return {};
  std::vector<std::string> values;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(", ", begin), line.size());
    values.push_back(line.substr(begin, end - begin));
    begin = end + 2;
  }
  return values;
}

}  // namespace

Environment DescribeEnvironment(int32_t num_threads) {
  const nlohmann::json info = nlohmann::json::parse(Info());
  const nlohmann::json& cpu = info.at("cpu");
  const nlohmann::json& build = info.at("build");
  Environment environment;
  environment.device = "cpu";
  environment.driver = KernelRelease();
  environment.cpu = cpu.at("name");
  environment.cpu_model = CpuModel();
  for (const auto& instruction_set : info.at("instruction_sets")) {
    if (instruction_set.at("available")) environment.instruction_set = instruction_set.at("name");
  }
  environment.l2_cache_bytes = cpu.at("l2_cache_bytes");
  environment.l3_cache_bytes = cpu.at("l3_cache_bytes");
  environment.num_processors = cpu.at("num_threads");
  environment.num_threads = num_threads > 0 ? num_threads : environment.num_processors;
  environment.version = info.at("version");
  environment.commit = build.at("commit");
  environment.compiler = build.at("compiler");
  environment.build_type = build.at("type");
  environment.flags = build.at("flags");
  environment.date = UtcDate();
  return environment;
}

Environment DescribeDeviceEnvironment(int32_t num_threads) {
  Environment environment = DescribeEnvironment(num_threads);
  const nlohmann::json cuda = nlohmann::json::parse(Info()).at("cuda");
  if (!cuda.at("available").get<bool>()) return environment;
  environment.device = cuda.at("name");
  const auto version = cuda.at("driver_version").get<int>();
  environment.driver =
      "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  const std::vector<std::string> told =
      AskDriver({"driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit"});
  if (told.size() != 5) return environment;
  environment.driver = told[0] + ", " + environment.driver;
  environment.clocks =
      "sm " + told[1] + " of " + told[2] + ", memory " + told[3] + ", power limit " + told[4];
  return environment;
}

}  // namespace tilescan::testing
