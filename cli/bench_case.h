// Measures one case of `tilescan bench`.
#ifndef TILESCAN_CLI_BENCH_CASE_H_
#define TILESCAN_CLI_BENCH_CASE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/bench_workload.h"
#include "cli/options.h"
#include "testing/ceilings.h"
#include "testing/result_file.h"

namespace tilescan::cli {

// How cases are measured; the same for all.
struct BenchSettings {
  ComputeOptions compute;
  int64_t chunk_size = 0;
  int64_t num_samples = 0;
  // The backend of which samples are taken in turn, to compare with. Empty: none.
  std::string compared_backend;
};

// The result of the case, and behind it that of the compared backend if there is one. Their samples
// alternate, so that the ratio, in the first result, is of neighbours in time. on_sample is called
// before each sample. Every result is checked before it is timed. Throws Error, or another
// std::runtime_error.
std::vector<testing::Result> MeasureCase(const BenchCase& bench_case, const BenchSettings& settings,
                                         const std::function<void()>& on_sample,
                                         testing::Ceilings* ceilings);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_BENCH_CASE_H_
