// A call of the library, planned once and run again and again.
#ifndef TILESCAN_BENCH_PLANNED_CALL_H_
#define TILESCAN_BENCH_PLANNED_CALL_H_

#include <cstddef>
#include <vector>

#include "tilescan/tilescan.hpp"

namespace tilescan::bench {

// Throws tilescan::Error where the library refuses.
template <typename Args>
class PlannedCall {
 public:
  PlannedCall(const Args& args, const tilescan_options& options)
      : args_(args), plan_(args, &options), workspace_(plan_.workspace_bytes()) {}

  void Run() { plan_.Run(args_, workspace_); }

  // Data pointers may change between runs.
  Args& args() { return args_; }
  const Plan& plan() const { return plan_; }

 private:
  Args args_;
  Plan plan_;
  std::vector<std::byte> workspace_;
};

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_PLANNED_CALL_H_
