#include "cli/options.h"

#include <charconv>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/safetensors_header.h"

namespace tilescan::cli {
namespace {

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

template <typename Number>
std::optional<Number> ParseNumber(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool ParseBool(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw Error(Concat("expected true or false, got ", Quote(text)));
}

}  // namespace

const char* OperationName(Operation operation) {
  return operation == Operation::kScanForward ? "scan_forward" : "state_update";
}

Operation ParseOperation(const std::string& text) {
  if (text == "scan_forward") return Operation::kScanForward;
  if (text == "state_update") return Operation::kStateUpdate;
  throw Error(Concat("expected scan_forward or state_update, got ", Quote(text)));
}

std::optional<int64_t> ParseInteger(const std::string& text) { return ParseNumber<int64_t>(text); }

int64_t ParseCount(const std::string& text) {
  const std::optional<int64_t> value = ParseInteger(text);
  if (!value || *value < 0) throw Error(Concat("expected a count, got ", Quote(text)));
  return *value;
}

double ParseTolerance(const std::string& text) {
  const std::optional<double> value = ParseNumber<double>(text);
  if (!value || !(*value >= 0)) throw Error(Concat("expected 0 or more, got ", Quote(text)));
  return *value;
}

std::pair<float, float> ParseLimits(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma != std::string::npos) {
    const std::optional<float> low = ParseNumber<float>(Trim(text.substr(0, comma)));
    const std::optional<float> high = ParseNumber<float>(Trim(text.substr(comma + 1)));
    if (low && high && *low <= *high) return {*low, *high};
  }
  throw Error(Concat("expected LOW,HIGH with LOW <= HIGH, like 0,inf, got ", Quote(text)));
}

tilescan_dtype ParseFloatDType(const std::string& text) {
  const std::optional<tilescan_dtype> dtype = FloatDTypeOfName(text);
  if (!dtype) throw Error(Concat("expected fp32, bf16, fp16 or fp64, got ", Quote(text)));
  return *dtype;
}

ProblemOptions OptionsFromMetadata(const std::map<std::string, std::string>& metadata,
                                   const std::string& where) {
  const auto read = [&](const char* key, auto parse, auto* target) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    try {
      *target = parse(found->second);
    } catch (const Error& error) {
      throw Error(Concat(where, ": __metadata__ ", key, ": ", error.what()));
    }
  };
  ProblemOptions options;
  read("operation", ParseOperation, &options.operation);
  read("dt_softplus", ParseBool, &options.dt_softplus);
  read("dt_limit", ParseLimits, &options.dt_limit);
  read("states_every", ParseCount, &options.states_every);
  read("chunk_size", ParseCount, &options.chunk_size);
  read("state_dtype", ParseFloatDType, &options.state_dtype);
  return options;
}

ProblemOptions Override(const ProblemOptions& over, const ProblemOptions& under) {
  ProblemOptions options = under;
  if (over.operation) options.operation = over.operation;
  if (over.dt_softplus) options.dt_softplus = over.dt_softplus;
  if (over.dt_limit) options.dt_limit = over.dt_limit;
  if (over.states_every) options.states_every = over.states_every;
  if (over.chunk_size) options.chunk_size = over.chunk_size;
  if (over.state_dtype) options.state_dtype = over.state_dtype;
  return options;
}

tilescan_options ComputeOptions::ToLibrary(int64_t chunk_size) const {
  tilescan_options options;
  tilescan_options_init(&options);
  if (!backend.empty()) options.backend = backend.c_str();
  if (!kernel.empty()) options.kernel = kernel.c_str();
  if (!instruction_set.empty()) options.instruction_set = instruction_set.c_str();
  options.num_threads = num_threads;
  options.chunk_size = chunk_size;
  return options;
}

}  // namespace tilescan::cli
