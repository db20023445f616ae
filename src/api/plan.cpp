#include <algorithm>
#include <cstring>

#include "api/init_struct.h"
#include "api/plan_handle.h"
#include "plan/describe.h"

namespace tilescan::api {
namespace {

// Copies as much of the text as fits, and ends it with 0 if there is room for that.
void CopyText(const std::string& text, char* buffer, size_t capacity) {
  if (buffer == nullptr || capacity == 0) return;
  const size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

// The length of the text that make_text gives, copied to the buffer; 0 and "" when it fails.
template <typename MakeText>
size_t Describe(char* buffer, size_t capacity, MakeText&& make_text) noexcept {
  size_t length = 0;
  CopyText("", buffer, capacity);
  Guard([&]() -> Status {
    std::string text;
    TILESCAN_RETURN_IF_ERROR(make_text(&text));
    CopyText(text, buffer, capacity);
    length = text.size();
    return Status();
  });
  return length;
}

}  // namespace
}  // namespace tilescan::api

void tilescan_options_init_sized(tilescan_options* options, size_t struct_size) {
  tilescan::api::InitStruct(tilescan_options{}, struct_size, options);
}

void tilescan_plan_destroy(tilescan_plan* plan) { delete plan; }

size_t tilescan_plan_workspace_bytes(const tilescan_plan* plan) {
  if (plan == nullptr) {
    tilescan::api::ReportStatic(TILESCAN_INVALID_ARGUMENT, "plan_workspace_bytes: plan is NULL");
    return 0;
  }
  return plan->plan->workspace_bytes();
}

size_t tilescan_plan_describe(const tilescan_plan* plan, char* buffer, size_t capacity) {
  return tilescan::api::Describe(buffer, capacity, [&](std::string* text) {
    if (plan == nullptr) {
      return tilescan::Status::InvalidArgument("plan_describe: plan is NULL");
    }
    *text = tilescan::plan::DescribePlan(*plan->plan);
    return tilescan::Status();
  });
}

size_t tilescan_info(char* buffer, size_t capacity) {
  return tilescan::api::Describe(buffer, capacity, [](std::string* text) {
    *text = tilescan::plan::DescribeLibrary(tilescan::api::Facts(),
                                            tilescan::api::RowsOfAllOperations());
    return tilescan::Status();
  });
}
