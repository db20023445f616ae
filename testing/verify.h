// Runs named cases through the public C interface on a chosen target, and compares every output
// with the float64 recurrence.
#ifndef TILESCAN_TESTING_VERIFY_H_
#define TILESCAN_TESTING_VERIFY_H_

#include <string>
#include <vector>

#include "testing/compare.h"
#include "testing/operands.h"
#include "testing/target.h"

namespace tilescan::testing {

// An output of a case against the truth. What the figures mean: testing/compare.h.
struct OutputError {
  std::string output;  // "out", "final_states", "states_out", "state"
  Comparison comparison;
  double max_relative_limit = 0.0;
  double max_scaled_limit = 0.0;
};

enum class Outcome {
  kPassed,
  kFailed,
  kUnsupported,  // the target refuses the case with TILESCAN_UNSUPPORTED; message says why
};

struct CaseResult {
  std::string case_name;
  Outcome outcome = Outcome::kFailed;
  std::vector<OutputError> errors;
  std::string message;   // why it failed or is unsupported; empty when passed
  double seconds = 0.0;  // of the target's run alone
};

// The cases by name, in the order they are listed in: "C01/chunk64/float32", "shapes/...", ...
std::vector<std::string> CaseNames();
// "scan_forward", ...; "" for a name that is no case's.
std::string CaseOperation(const std::string& case_name);
// What the case is there for, in a few words.
std::string CaseAbout(const std::string& case_name);

// Runs one case, its operands laid out compactly or otherwise. A name that is no case's, and
// everything else that goes wrong, is kFailed with a message.
CaseResult VerifyCase(const std::string& case_name, const Target& target,
                      Layout layout = Layout::kCompact);

// What is wrong with operands that target has solved, held against the truth of the same problem as
// it was before: "" when all outputs are within the limits that named cases are held to.
template <typename Operands>
std::string Complaints(const Operands& before, const Operands& solved, const Target& target);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_VERIFY_H_
