// Whether results may be timed: a timing of a wrong result is worth nothing.
#ifndef TILESCAN_TESTING_CHECK_RESULT_H_
#define TILESCAN_TESTING_CHECK_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testing/host_tensor.h"
#include "testing/operands.h"
#include "testing/workload.h"

namespace tilescan::testing {

// Relative L2 errors.
struct Errors {
  double out = 0.0;
  double state = 0.0;
};

// All of it throws std::runtime_error, naming `what`, if an element is not finite where the truth
// is, or the other way round.

// Of a scan's outputs against the float64 recurrence, on a part of them: all tokens of the first
// and the last head of batch row 0. operands: the inputs, compact.
Errors ErrorsOnPart(const std::string& what, const ScanOperands& operands, const HostTensor& out,
                    const HostTensor& final_states);
// The same of a decoding step without slots: the first and the last head of the first and the last
// batch row. operands.state is the state before the step.
Errors ErrorsOnPart(const std::string& what, const StateUpdateOperands& operands,
                    const HostTensor& out, const HostTensor& state);

// Of one tensor against another, whole.
double RelativeError(const std::string& what, const HostTensor& got, const HostTensor& truth);

// The largest errors that are let pass, of results from a CPU or from a GPU.
Errors Limits(const WorkloadDTypes& dtypes, bool is_on_device = false);

// Throws std::runtime_error if an error is over its limit.
void RequireWithin(const std::string& what, const Errors& errors, const Errors& limits);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CHECK_RESULT_H_
