// Result files: what was measured, one file a run, for scripts that make tables and plots of it.
//
//   {"environment": {"device", "driver", "cpu", "threads", "commit", "date", ..., "ceilings":
//   {...}},
//    "results": [{"case", "operation", "implementation", ..., "median_us", ...}, ...]}
#ifndef TILESCAN_TESTING_RESULT_FILE_H_
#define TILESCAN_TESTING_RESULT_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/ceilings.h"
#include "testing/environment.h"
#include "testing/timer.h"

namespace tilescan::testing {

// Times of this implementation beside another's in the same rounds: above 1 it is faster.
struct RoundRatio {
  std::string against;  // the other's name
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};

// One implementation on one case. What is empty is not written (figures), or written as null.
struct Result {
  std::string case_name;       // "mamba2-2.7b/2048", "mamba2-2.7b/decode-8/cold", "W1"
  std::string operation;       // "scan_forward", "state_update"
  std::string implementation;  // "tilescan", "ggml", ...
  std::string dtype;           // of x, B, C: "float32", "bfloat16", "float16"
  std::string state_dtype;
  std::string preset;  // empty if the case is no preset's
  int64_t batch = 0;
  int64_t seqlen = 0;  // 1 for state_update

  Timing timing;
  std::string mode = "short";  // or "sustained"
  // Relative L2 against the float64 recurrence, on the part that was compared.
  std::optional<double> error_out;
  std::optional<double> error_state;
  std::optional<int64_t> peak_bytes;  // of memory beyond the operands
  std::string kernel;                 // as the plan calls it, with its instruction set
  bool precise = false;               // an option that trades speed for accuracy was set

  std::optional<RoundRatio> ratio;
  // Further figures, each under its name: "ns_per_token_head", "gflops", "gbytes_per_s",
  // "fraction_of_ceiling".
  std::map<std::string, double> figures;
};

struct ResultFile {
  Environment environment;
  std::map<std::string, Rate> ceilings;  // "multiply_add_gflops", "copy_gbytes_per_s", ...
  std::map<std::string, std::string> implementations;  // name to version and build, of the others
  std::vector<Result> results;
};

// The whole file as text, ending with a newline.
std::string ResultFileText(const ResultFile& file);

// Writes it whole or, on failure, not at all; returns what went wrong, empty if nothing.
std::string WriteResultFile(const ResultFile& file, const std::string& path);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_RESULT_FILE_H_
