// Preparing every row.
#include "plan/prepare.h"

#include <gtest/gtest.h>

#include <span>

#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

int& NumPrepared() {
  static int num_prepared = 0;
  return num_prepared;
}

DeviceFacts FactsWithGpu() {
  DeviceFacts facts = ExampleFacts();
  facts.cuda = []() -> const CudaFacts& {
    static const CudaFacts gpu = {.name = "Example GPU", .compute_capability = 90};
    return gpu;
  };
  return facts;
}

// Two rows of a GPU, of which the first gives that status, and one of a CPU.
template <typename Problem>
RowLists<Problem> Rows(Status (*prepare_first)()) {
  static Variant<Problem> rows[] = {ExampleRow<Problem, 1>("cuda", "tiles", ""),
                                    ExampleRow<Problem, 1>("cuda", "stream", ""),
                                    ExampleRow<Problem, 1>("cpu", "chunked", "avx2")};
  rows[0].prepare_all = prepare_first;
  rows[1].prepare_all = [] {
    ++NumPrepared();
    return Status();
  };
  return {std::span<const Variant<Problem>>(rows)};
}

Status PrepareExamples(const DeviceFacts& facts, Status (*prepare_first)()) {
  NumPrepared() = 0;
  const auto scan_rows = Rows<ScanForwardProblem>(prepare_first);
  const auto update_rows = Rows<StateUpdateProblem>(prepare_first);
  const auto conv_rows = Rows<CausalConv1dForwardProblem>(prepare_first);
  const auto conv_update_rows = Rows<CausalConv1dUpdateProblem>(prepare_first);
  const auto norm_rows = Rows<RmsNormGatedForwardProblem>(prepare_first);
  return PrepareRows(facts, {scan_rows, update_rows, conv_rows, conv_update_rows, norm_rows});
}

TEST(PrepareRows, PreparesEveryRowThatCan) {
  const auto count = [] {
    ++NumPrepared();
    return Status();
  };
  EXPECT_EQ(PrepareExamples(FactsWithGpu(), count).message(), "");
  EXPECT_EQ(NumPrepared(), 10);
}

TEST(PrepareRows, StopsAtAFailure) {
  const auto fail = [] { return Status::OutOfMemory("no room"); };
  const Status status = PrepareExamples(FactsWithGpu(), fail);
  EXPECT_EQ(status.code(), TILESCAN_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "no room");
  EXPECT_EQ(NumPrepared(), 0);
}

TEST(PrepareRows, SaysWhyThereIsNoGpu) {
  const Status status = PrepareExamples(ExampleFacts(), [] { return Status(); });
  EXPECT_EQ(status.code(), TILESCAN_UNSUPPORTED);
  EXPECT_EQ(status.message(), "prepare: an example has no GPU");
  EXPECT_EQ(NumPrepared(), 0);
}

}  // namespace
}  // namespace tilescan::plan
