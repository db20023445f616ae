#include "cli/work.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/dtype.h"
#include "testing/presets.h"
#include "testing/workload.h"

namespace tilescan::cli {
namespace {

// An operand whose size overflows has been refused before.
double Bytes(const tilescan_tensor& tensor) {
  return IsPresent(tensor) ? static_cast<double>(TensorBytes(tensor).value_or(0)) : 0.0;
}

}  // namespace

Work WorkOf(const nlohmann::ordered_json& sizes, OperationArgs* args) {
  const auto size = [&](const char* name) { return sizes.at(name).get<double>(); };
  const bool is_scan = OperationOf(*args) == Operation::kScanForward;
  const double states_size = size("nheads") * size("headdim") * size("dstate");
  const auto count = [&](const char* name) { return sizes.at(name).get<int64_t>(); };
  Work work;
  const int64_t num_tokens = count("batch") * count(is_scan ? "seqlen" : "num_tokens");
  work.num_tokens = static_cast<double>(num_tokens);
  testing::ModelPreset layer{};
  layer.nheads = count("nheads");
  layer.headdim = count("headdim");
  layer.dstate = count("dstate");
  work.num_flops = testing::RecurrenceFlops(layer, num_tokens);
  for (const auto& operands : {InputOperands(args), OutputOperands(args)}) {
    for (const Operand& operand : operands) {
      // Of a pool of states only those of the batch are used.
      work.num_bytes += operand.name == "state"
                            ? size("batch") * states_size *
                                  static_cast<double>(ElementBytes(operand.tensor->dtype))
                            : Bytes(*operand.tensor);
    }
  }
  return work;
}

}  // namespace tilescan::cli
