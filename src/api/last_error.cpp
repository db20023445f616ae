#include "api/last_error.h"

namespace tilescan::api {
namespace {

struct LastError {
  std::string text;
  const char* message = "";  // text's, or of static storage
};

LastError& OfThisThread() {
  thread_local LastError last_error;
  return last_error;
}

}  // namespace

tilescan_status Report(const Status& status) noexcept {
  if (status.ok()) return TILESCAN_OK;
  LastError& last_error = OfThisThread();
  try {
    last_error.text = status.message();
    last_error.message = last_error.text.c_str();
  } catch (...) {
    last_error.message = "out of memory while writing the message";
  }
  return status.code();
}

tilescan_status ReportStatic(tilescan_status code, const char* message) noexcept {
  OfThisThread().message = message;
  return code;
}

tilescan_status ReportException(const std::exception& exception) noexcept {
  try {
    return Report(Status::Internal(exception.what()));
  } catch (...) {
    return ReportStatic(TILESCAN_INTERNAL, "exception whose message does not fit in memory");
  }
}

}  // namespace tilescan::api

const char* tilescan_last_error(void) { return tilescan::api::OfThisThread().message; }
