// tilescan info: the machine, its instruction sets, the build, the backends.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/error.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/library.h"
#include "cli/output_file.h"

namespace tilescan::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string CacheText(const Json& bytes) {
  return bytes.get<int64_t>() == 0 ? "unknown" : BytesText(bytes.get<double>());
}

std::string CpuText(const Json& cpu) {
  return Row("cpu", PlainText(cpu.at("name"))) + Row("threads", PlainText(cpu.at("num_threads"))) +
         Row("caches", Concat("L1d ", CacheText(cpu.at("l1d_cache_bytes")), ", L2 ",
                              CacheText(cpu.at("l2_cache_bytes")), " a core; L3 ",
                              CacheText(cpu.at("l3_cache_bytes")))) +
         Row("matrix unit", cpu.at("amx").get<bool>() ? "AMX, bf16" : "none");
}

std::string InstructionSetsText(const Json& instruction_sets) {
  std::string here;
  std::string elsewhere;
  for (const Json& instruction_set : instruction_sets) {
    std::string& list = instruction_set.at("available").get<bool>() ? here : elsewhere;
    list += (list.empty() ? "" : ", ") + PlainText(instruction_set.at("name"));
  }
  if (!elsewhere.empty()) here += "; built, but not on this machine: " + elsewhere;
  return Row("instruction sets", here);
}

std::string GpuText(const Json& cuda) {
  if (!cuda.at("available").get<bool>()) return Row("gpu", "none: " + PlainText(cuda.at("reason")));
  const int capability = cuda.at("compute_capability").get<int>();
  return Row("gpu", Concat(PlainText(cuda.at("name")), ", compute capability ", capability / 10,
                           ".", capability % 10, ", ", PlainText(cuda.at("num_multiprocessors")),
                           " multiprocessors, ", BytesText(cuda.at("memory_bytes").get<double>())));
}

// One row a kernel, its instruction sets together.
std::string KernelsText(const Json& kernels) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& kernel : kernels) {
    const std::string name =
        PlainText(kernel.at("operation")) + " " + PlainText(kernel.at("kernel"));
    const std::string instruction_set = PlainText(kernel.at("instruction_set"));
    if (rows.empty() || rows.back().first != name) {
      rows.emplace_back(name, instruction_set);
    } else {
      rows.back().second += ", " + instruction_set;
    }
  }
  std::string text;
  for (const auto& [name, instruction_sets] : rows) {
    text += Row("", instruction_sets.empty() ? name : Concat(name, " (", instruction_sets, ")"));
  }
  return text;
}

std::string InfoText(const Json& info) {
  const Json& build = info.at("build");
  std::string text = Row("tilescan", PlainText(info.at("version")));
  text += Row("commit", PlainText(build.at("commit")));
  text += Row("build", Concat(PlainText(build.at("type")), ", ", PlainText(build.at("compiler"))));
  text += Row("flags", PlainText(build.at("flags")));
  text += CpuText(info.at("cpu"));
  text += InstructionSetsText(info.at("instruction_sets"));
  text += GpuText(info.at("cuda"));
  for (const Json& backend : info.at("backends")) {
    text += Row("backend", PlainText(backend.at("name")));
    text += KernelsText(backend.at("kernels"));
  }
  return text;
}

int Info(const std::string& json_path) {
  const Json info = DescribeLibrary();
  if (!json_path.empty()) WriteTextFile(json_path, JsonText(info));
  if (json_path != "-") std::cout << InfoText(info);
  return kExitOk;
}

}  // namespace

Command AddInfoCommand(CLI::App* parent) {
  CLI::App* app = parent->add_subcommand(
      "info", "Show the machine, its instruction sets, the build and the backends");
  const auto json_path = std::make_shared<std::string>();
  AddJsonFlag(app, json_path.get());
  app->footer(
      "Examples:\n"
      "  tilescan info\n"
      "  tilescan info --json -");
  return {app, [json_path] { return Info(*json_path); }};
}

}  // namespace tilescan::cli
