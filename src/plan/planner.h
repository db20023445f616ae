// Chooses the kernel of a problem. A pure function of the problem, the options, the machine's facts
// and the rows: nothing is started, no memory of an operand is touched.
#ifndef TILESCAN_PLAN_PLANNER_H_
#define TILESCAN_PLAN_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/device_facts.h"
#include "core/options.h"
#include "core/split_conv1d_scan.h"
#include "core/status.h"
#include "plan/variant.h"
#include "plan/violations.h"

namespace tilescan::plan {

inline constexpr const char* kDefaultBackend = "cpu";
// Taken by itself only for float64 operands, which no other backend has.
inline constexpr const char* kReferenceBackend = "reference";

// Against slips: far beyond the machines there are.
constexpr int32_t kMaxNumThreads = 1024;

// A row that was not taken, and why.
struct Rejected {
  std::string backend;
  std::string kernel;
  std::string instruction_set;
  std::string reason;
};

template <typename Problem>
struct Choice {
  const Variant<Problem>* variant = nullptr;
  Schedule schedule;
  size_t workspace_bytes = 0;
  std::string reason;
  std::vector<Rejected> rejected;  // in the order of the rows
};

// The rows of every backend, a list each. They must outlive the choice.
template <typename Problem>
using RowLists = std::vector<std::span<const Variant<Problem>>>;

// What a kernel, or several, are chosen among for a problem.
template <typename Problem>
struct RowsOf {
  using Type = RowLists<Problem>;
};

// Those of the operations that one is made of.
struct SplitRowLists {
  const RowLists<CausalConv1dForwardProblem>& conv;
  const RowLists<ScanForwardProblem>& scan;
  const RowLists<RmsNormGatedForwardProblem>& norm;
};
template <>
struct RowsOf<SplitConv1dScanForwardProblem> {
  using Type = SplitRowLists;
};

// Those of every operation that has rows.
using AllRowLists =
    std::tuple<const RowLists<ScanForwardProblem>&, const RowLists<StateUpdateProblem>&,
               const RowLists<CausalConv1dForwardProblem>&,
               const RowLists<CausalConv1dUpdateProblem>&,
               const RowLists<RmsNormGatedForwardProblem>&>;

// Reads the caller's options (null: the defaults), and checks each by itself. A struct_size that
// this library cannot read is a violation.
Options ReadOptions(const tilescan_options* options, Violations* violations);

// Checks the names in the options against the rows: an unknown one is a violation that lists those
// that exist.
template <typename Problem>
void CheckNames(const Options& options, const DeviceFacts& facts,
                const RowLists<Problem>& row_lists, Violations* violations);

// Among the rows that the options allow and that can do the problem, takes the one of least cost;
// the first of equals. If there is none, the status is "unsupported" and says why for each row.
template <typename Problem>
Status Choose(const Problem& problem, const Options& options, const DeviceFacts& facts,
              const RowLists<Problem>& row_lists, Choice<Problem>* choice);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_PLANNER_H_
