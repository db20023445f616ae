// Gathers everything that is wrong with a call, so that the caller learns all of it at once.
#ifndef TILESCAN_PLAN_VIOLATIONS_H_
#define TILESCAN_PLAN_VIOLATIONS_H_

#include <string>
#include <vector>

#include "core/status.h"

namespace tilescan::plan {

class Violations {
 public:
  // operation: static storage, stands before the message. Allocates nothing until the first Add().
  explicit Violations(const char* operation) : operation_(operation) {}

  // "argument has ..., expected ...".
  void Add(std::string violation) { violations_.push_back(std::move(violation)); }

  bool empty() const { return violations_.empty(); }

  // OK when there are none, else an invalid argument: "operation: first; second; ...".
  Status ToStatus() const {
    if (violations_.empty()) return Status();
    std::string message = std::string(operation_) + ": ";
    for (size_t idx = 0; idx < violations_.size(); ++idx) {
      if (idx > 0) message += "; ";
      message += violations_[idx];
    }
    return Status::InvalidArgument(std::move(message));
  }

 private:
  const char* operation_;
  std::vector<std::string> violations_;
};

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_VIOLATIONS_H_
