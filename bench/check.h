// Whether results may be timed: a timing of a wrong result is worth nothing.
#ifndef TILESCAN_BENCH_CHECK_H_
#define TILESCAN_BENCH_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testing/host_tensor.h"
#include "testing/operands.h"
#include "testing/workload.h"

namespace tilescan::bench {

// Relative L2 errors.
struct Errors {
  double out = 0.0;
  double state = 0.0;
};

// All of it throws std::runtime_error, naming `what`, if an element is not finite where the truth
// is, or the other way round.

// Of a scan's outputs against the float64 recurrence, on a part of them: all tokens of the first
// and the last head of batch row 0. operands: the inputs.
Errors ErrorsOnPart(const std::string& what, const testing::ScanOperands& operands,
                    const testing::HostTensor& out, const testing::HostTensor& final_states);

// Of one tensor against another, whole.
double RelativeError(const std::string& what, const testing::HostTensor& got,
                     const testing::HostTensor& truth);

// The largest errors that are let pass.
Errors Limits(const testing::WorkloadDTypes& dtypes);

// Throws std::runtime_error if an error is over its limit.
void RequireWithin(const std::string& what, const Errors& errors, const Errors& limits);

// A compact copy of plain fp32 numbers in a shape.
testing::HostTensor CopyOf(const float* numbers, const std::vector<int64_t>& shape);

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_CHECK_H_
