#include "cli/plan_text.h"

#include <nlohmann/json.hpp>

#include "cli/error.h"
#include "cli/format.h"
#include "testing/target.h"

namespace tilescan::cli {

using Json = nlohmann::ordered_json;

std::string KernelText(const Json& row) {
  testing::Target target;
  target.backend = row.at("backend");
  target.kernel = row.at("kernel");
  target.instruction_set = row.at("instruction_set");
  return target.Name();
}

std::string PlanText(const Json& description) {
  const int64_t chunk_size = description.at("chunk_size").get<int64_t>();
  std::string text = Row("operation", PlainText(description.at("operation")));
  text += Row("sizes", PlainText(description.at("sizes")));
  text += Row("kernel", KernelText(description));
  text += Row("reason", PlainText(description.at("reason")));
  if (chunk_size != 0) text += Row("chunk_size", std::to_string(chunk_size));
  text += Row("threads", PlainText(description.at("num_threads")));
  text += Row("workspace", BytesText(description.at("workspace_bytes")));
  return text;
}

std::string RejectedText(const Json& description) {
  std::string text;
  for (const Json& row : description.at("rejected")) {
    text += Row(text.empty() ? "not taken" : "",
                Concat(KernelText(row), ": ", PlainText(row.at("reason"))));
  }
  return text;
}

}  // namespace tilescan::cli
