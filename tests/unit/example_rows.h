// Rows for tests of the planner, which takes any.
#ifndef TILESCAN_TESTS_UNIT_EXAMPLE_ROWS_H_
#define TILESCAN_TESTS_UNIT_EXAMPLE_ROWS_H_

#include <string>

#include "plan/planner.h"
#include "plan/variant.h"
#include "tests/unit/example_args.h"

namespace tilescan::plan {

// What the rows below were called with.
struct Calls {
  int num_prepared = 0;
  int num_run = 0;
  Schedule schedule;
  void* workspace = nullptr;
  void* stream = nullptr;
  Status prepare_status;
  Status run_status;
};
inline Calls& CallsOfRows() {
  static Calls calls;
  return calls;
}

template <typename Problem>
Problem& ProblemOfLastRun() {
  static Problem problem;
  return problem;
}

template <typename Problem, int kCost>
Variant<Problem> ExampleRow(const char* backend, const char* name, const char* instruction_set) {
  return {
      .backend = backend,
      .name = name,
      .instruction_set = instruction_set,
      .reason_against = [](const Problem&, const DeviceFacts&) { return std::string(); },
      .cost = [](const Problem&, const DeviceFacts&) { return double{kCost}; },
      .choose_chunk_size = [](const Problem&, const DeviceFacts&, int64_t requested) -> int64_t {
        return requested == 0 ? 48 : requested;
      },
      .workspace_bytes = [](const Problem&, const Schedule& schedule) -> size_t {
        return static_cast<size_t>(1000 + schedule.num_threads);
      },
      .prepare =
          [](const Problem&, const Schedule& schedule) {
            ++CallsOfRows().num_prepared;
            CallsOfRows().schedule = schedule;
            return CallsOfRows().prepare_status;
          },
      .run =
          [](const Problem& problem, const Launch& launch) {
            ++CallsOfRows().num_run;
            CallsOfRows().schedule = launch.schedule;
            CallsOfRows().workspace = launch.workspace;
            CallsOfRows().stream = launch.stream;
            ProblemOfLastRun<Problem>() = problem;
            return CallsOfRows().run_status;
          }};
}

inline DeviceFacts ExampleFacts() {
  DeviceFacts facts;
  facts.cpu.name = "Example \"processor\"";
  facts.cpu.num_threads = 8;
  facts.cpu.l1d_cache_bytes = 32768;
  facts.cpu.instruction_sets = {{"scalar", true}, {"avx2", true}, {"avx512", false}};
  facts.cuda = []() -> const CudaFacts& {
    static const CudaFacts none = {.reason_against = "an example has no GPU"};
    return none;
  };
  return facts;
}

// cpu/chunked in two instruction sets, and reference/recurrence, which is the cheapest.
template <typename Problem>
const RowLists<Problem>& ExampleRows() {
  static const Variant<Problem> cpu_rows[] = {ExampleRow<Problem, 4>("cpu", "chunked", "scalar"),
                                              ExampleRow<Problem, 2>("cpu", "chunked", "avx2"),
                                              ExampleRow<Problem, 3>("cpu", "stepwise", "avx2")};
  static const Variant<Problem> reference_rows[] = {
      ExampleRow<Problem, 1>("reference", "recurrence", "")};
  static const RowLists<Problem> row_lists = {cpu_rows, reference_rows};
  return row_lists;
}

// Those of every operation.
inline AllRowLists ExampleRowsOfAll() {
  return {ExampleRows<ScanForwardProblem>(), ExampleRows<StateUpdateProblem>(),
          ExampleRows<CausalConv1dForwardProblem>(), ExampleRows<CausalConv1dUpdateProblem>(),
          ExampleRows<RmsNormGatedForwardProblem>()};
}

inline const SplitRowLists& ExampleRowsOfSplit() {
  static const SplitRowLists rows = {ExampleRows<CausalConv1dForwardProblem>(),
                                     ExampleRows<ScanForwardProblem>(),
                                     ExampleRows<RmsNormGatedForwardProblem>()};
  return rows;
}

template <typename Args>
auto ProblemOf(const Args& args) {
  Violations violations("operation");
  return Validate(args, &violations).problem;
}

}  // namespace tilescan::plan

#endif  // TILESCAN_TESTS_UNIT_EXAMPLE_ROWS_H_
