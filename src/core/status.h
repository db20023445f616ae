// The outcome of anything that can fail. The library's own code throws nothing on purpose.
#ifndef TILESCAN_CORE_STATUS_H_
#define TILESCAN_CORE_STATUS_H_

#include <string>
#include <utility>

#include "tilescan/tilescan.h"

namespace tilescan {

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status InvalidArgument(std::string message) {
    return Status(TILESCAN_INVALID_ARGUMENT, std::move(message));
  }
  static Status Unsupported(std::string message) {
    return Status(TILESCAN_UNSUPPORTED, std::move(message));
  }
  static Status OutOfMemory(std::string message) {
    return Status(TILESCAN_OUT_OF_MEMORY, std::move(message));
  }
  static Status Internal(std::string message) {
    return Status(TILESCAN_INTERNAL, std::move(message));
  }

  bool ok() const { return code_ == TILESCAN_OK; }
  tilescan_status code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same failure, its message behind a prefix.
  Status WithPrefix(const std::string& prefix) const {
    return ok() ? *this : Status(code_, prefix + message_);
  }

 private:
  Status(tilescan_status code, std::string message) : code_(code), message_(std::move(message)) {}

  tilescan_status code_ = TILESCAN_OK;
  std::string message_;
};

}  // namespace tilescan

#define TILESCAN_RETURN_IF_ERROR(expression)                     \
  do {                                                           \
    ::tilescan::Status status_of_expression = (expression);      \
    if (!status_of_expression.ok()) return status_of_expression; \
  } while (false)

#endif  // TILESCAN_CORE_STATUS_H_
