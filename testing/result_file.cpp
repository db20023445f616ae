#include "testing/result_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tilescan::testing {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Rate& rate) {
  return {{"median", rate.median},
          {"min", rate.min},
          {"max", rate.max},
          {"repeats", rate.repeats},
          {"disturbed", rate.num_disturbed}};
}

Json EnvironmentJson(const ResultFile& file) {
  const Environment& environment = file.environment;
  Json json = {{"device", environment.device}, {"driver", environment.driver}};
  if (!environment.clocks.empty()) json["clocks"] = environment.clocks;
  json.update({{"cpu", environment.cpu},
               {"cpu_model", environment.cpu_model},
               {"instruction_set", environment.instruction_set},
               {"l2_cache_bytes", environment.l2_cache_bytes},
               {"l3_cache_bytes", environment.l3_cache_bytes},
               {"processors", environment.num_processors},
               {"threads", environment.num_threads},
               {"version", environment.version},
               {"commit", environment.commit},
               {"compiler", environment.compiler},
               {"build_type", environment.build_type},
               {"flags", environment.flags},
               {"date", environment.date}});
  if (!file.implementations.empty()) json["implementations"] = file.implementations;
  for (const auto& [name, rate] : file.ceilings) json["ceilings"][name] = ToJson(rate);
  return json;
}

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ToJson(const Result& result) {
  Json json = {{"case", result.case_name},
               {"operation", result.operation},
               {"implementation", result.implementation},
               {"dtype", result.dtype},
               {"state_dtype", result.state_dtype}};
  if (!result.preset.empty()) json["preset"] = result.preset;
  json["batch"] = result.batch;
  json["seqlen"] = result.seqlen;
  json["median_us"] = result.timing.median_us;
  json["min_us"] = result.timing.min_us;
  json["max_us"] = result.timing.max_us;
  json["repeats"] = result.timing.repeats;
  json["disturbed"] = result.timing.num_disturbed;
  json["mode"] = result.mode;
  json["error_out"] = OrNull(result.error_out);
  json["error_state"] = OrNull(result.error_state);
  json["peak_bytes"] = OrNull(result.peak_bytes);
  json["kernel"] = result.kernel;
  json["precise"] = result.precise;
  if (result.ratio) {
    json["ratio"] = {{"against", result.ratio->against},
                     {"median", result.ratio->median},
                     {"min", result.ratio->min},
                     {"max", result.ratio->max}};
  }
  for (const auto& [name, value] : result.figures) json[name] = value;
  return json;
}

std::string SystemError(const std::string& doing, const std::string& path) {
  return doing + " " + path + ": " + std::strerror(errno);
}

}  // namespace

std::string ResultFileText(const ResultFile& file) {
  Json json = {{"environment", EnvironmentJson(file)}, {"results", Json::array()}};
  for (const Result& result : file.results) json["results"].push_back(ToJson(result));
  return json.dump(2) + "\n";
}

std::string WriteResultFile(const ResultFile& file, const std::string& path) {
  const std::string part_path = path + ".part";
  {
    std::ofstream part(part_path);
    part << ResultFileText(file);
    part.close();
    if (!part) return SystemError("cannot write", part_path);
  }
  if (std::rename(part_path.c_str(), path.c_str()) != 0) {
    const std::string message = SystemError("cannot write", path);
    std::remove(part_path.c_str());
    return message;
  }
  return "";
}

}  // namespace tilescan::testing
