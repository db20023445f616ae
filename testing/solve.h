// What Truth() and Magnitudes() of every operation are made with.
#ifndef TILESCAN_TESTING_SOLVE_H_
#define TILESCAN_TESTING_SOLVE_H_

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "testing/operands.h"
#include "testing/run.h"
#include "testing/target.h"

namespace tilescan::testing {

// Runs the reference, its first choice of kernels, in place of the outputs of operands that are in
// float64. Aborts the program if that fails.
template <typename Operands>
Operands Solved(Operands operands) {
  Target target;
  target.backend = "reference";
  const RunResult result = RunCall(operands, target.Options());
  if (!result.ok()) {
    std::fprintf(stderr, "the reference failed: %s\n", result.message.c_str());
    std::abort();
  }
  return operands;
}

// A copy with poison for what is only written.
template <typename Operands>
Operands WithoutResults(const Operands& operands) {
  return CopyOperands(operands, [](const char* name, const HostTensor& tensor, bool is_output) {
    if (is_output && !IsUpdatedInPlace(name) && tensor.present()) {
      return HostTensor(tensor.dtype(), tensor.shape());
    }
    return WithLayout(tensor, Layout::kCompact);
  });
}

// A copy whose elements are the absolute values.
inline HostTensor Absolute(const HostTensor& tensor) {
  HostTensor copy = WithLayout(tensor, Layout::kCompact);
  for (int64_t idx = 0; idx < copy.num_elements(); ++idx) {
    copy.Set(idx, std::fabs(copy.Get(idx)));
  }
  return copy;
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_SOLVE_H_
