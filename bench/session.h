// A run of cpu_bench: what is measured against, and what came out.
#ifndef TILESCAN_BENCH_SESSION_H_
#define TILESCAN_BENCH_SESSION_H_

#include <optional>
#include <string>

#include "bench/options.h"
#include "bench/peer_library.h"
#include "bench/rounds.h"
#include "testing/ceilings.h"
#include "testing/check_result.h"
#include "testing/presets.h"
#include "testing/result_file.h"
#include "tilescan/tilescan.hpp"

namespace tilescan::bench {

using testing::Errors;
using testing::ErrorsOnPart;
using testing::Limits;
using testing::RelativeError;
using testing::RequireWithin;

struct Session {
  explicit Session(BenchOptions bench_options);

  // A result with what all of this run's have in common.
  testing::Result NewResult(const testing::ModelPreset& preset, int64_t batch,
                            const std::string& implementation) const;
  // Keeps and prints the results of a case, our own first.
  void Add(const testing::Result& own, const std::optional<testing::Result>& peer);
  // Prints how clean the samples were, and the geometric means of the ratios.
  void PrintSummary() const;

  BenchOptions options;
  std::optional<PeerLibrary> peer;
  testing::Ceilings ceilings;
  testing::ResultFile file;

 private:
  void PrintMeans() const;
};

// "cpu/chunked/avx2"
std::string KernelOf(const Plan& plan);
// "avx2"
std::string InstructionSetOf(const Plan& plan);

// Measure a case and add its results. Throw std::runtime_error when a result is wrong.
void MeasureScanForward(const testing::ModelPreset& preset, int64_t seqlen, Session* session);
void MeasureStateUpdate(const testing::ModelPreset& preset, int64_t batch, bool is_cold,
                        Session* session);

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_SESSION_H_
