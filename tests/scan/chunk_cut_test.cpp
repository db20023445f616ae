// Few heads and many threads, which then share the chunks of a row: with everything a row may hold,
// the same bits as one thread carrying each head along it, and right.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/sequences.h"
#include "cpu/scan_cut.h"
#include "testing/case_list.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "testing/verify.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr int64_t kChunkSize = 16;
constexpr int32_t kNumThreads = 7;

ScanCase RichCase(const std::string& name, const CaseSizes& sizes, uint64_t seed) {
  ScanCase c = RandomScanCase(name, sizes, seed);
  AddOptionalOperands(&c, seed);
  return c;
}

std::vector<ScanCase> Cases() {
  const CaseSizes row = {1, 600, 4, 20, 2, 24};
  std::vector<ScanCase> cases = {RichCase("groups", row, 720)};
  // Where a chunk ends, inside chunks, and both.
  for (const int64_t states_every : {48, 10, 1}) {
    cases.push_back(RichCase("states_every", row, 721));
    cases.back().states_every = states_every;
  }
  cases.push_back(RichCase("seq_idx", row, 722));
  cases.back().states_every = 25;
  std::vector<int32_t>& ids = cases.back().seq_idx;
  for (const auto& [id, count] : std::vector<std::pair<int32_t, int64_t>>{
           {-1, 3}, {7, 150}, {-1, 20}, {7, 100}, {3, 130}, {-1, 2}, {7, 180}, {-4, 15}}) {
    ids.insert(ids.end(), static_cast<size_t>(count), id);
  }
  cases.push_back(RichCase("cu_seqlens", {1, 600, 2, 20, 1, 24}, 723));
  cases.back().cu_seqlens = {0, 281, 600};
  cases.back().states_every = 40;
  return cases;
}

class ChunkCutOn : public ::testing::TestWithParam<Target> {};

TEST_P(ChunkCutOn, SameBitsAsOneThread) {
  for (ScanCase c : Cases()) {
    SCOPED_TRACE(c.name + ", states every " + std::to_string(c.states_every));
    for (const DType dtype : DTypesOf(GetParam())) {
      c.x_dtype = dtype;
      Target target = GetParam();
      target.num_threads = 1;
      const ScanOperands before = BuildOperands(c);
      const ScanOperands expected = Solve(c, target, kChunkSize);
      if (dtype == DType::kFloat32) {
        EXPECT_EQ(Complaints(before, expected, target), "");
      }
      target.num_threads = kNumThreads;
      ExpectSameBits(Solve(c, target, kChunkSize), expected, "7 threads");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChunkCutOn, ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")),
                         NameOfTest());

// The cases above are cut as they are there to be.
TEST(ChunkCut, ThreadsShareChunksWhereHeadsAreFew) {
  for (const ScanCase& c : Cases()) {
    const ScanOperands operands = BuildOperands(c);
    const ScanForwardProblem problem = MakeProblem(operands);
    const cpu::ScanChunkSteps& steps = cpu::AllScanChunkSteps().front();
    const cpu::ChunkShape shape =
        steps.shape(kChunkSize, problem.sizes.headdim, problem.sizes.dstate);
    const CpuFacts& facts = cpu::Facts();
    EXPECT_TRUE(cpu::ChooseCut(problem, shape, kNumThreads, facts).by_chunks) << c.name;
    EXPECT_FALSE(cpu::ChooseCut(problem, shape, 1, facts).by_chunks) << c.name;
  }
}

// Workspace for a long sequence is that for a short one, whatever the cut.
TEST_P(ChunkCutOn, WorkspaceDoesNotDependOnSeqlen) {
  if (GetParam().IsOnDevice()) GTEST_SKIP() << "on a GPU it holds the states of all chunks";
  for (const int32_t num_threads : {1, 2, 4, 64}) {
    std::vector<size_t> sizes;
    for (const int64_t seqlen : {1, 300, 100000}) {
      ScanCase c = RandomScanCase("workspace", {1, 1, 2, 8, 1, 8}, 703);
      c.x_dtype = WidestDType(GetParam());
      const ScanOperands operands = BuildOperands(c);
      tilescan_scan_forward_args args = MakeArgs(operands);
      for (tilescan_tensor* tensor : {&args.x, &args.dt, &args.B, &args.C, &args.out}) {
        tensor->shape[1] = seqlen;
        tensor->strides[0] *= seqlen;
        tensor->data = nullptr;
      }
      Target target = GetParam();
      target.num_threads = num_threads;
      const tilescan_options options = target.Options();
      tilescan_plan* plan = nullptr;
      ASSERT_EQ(tilescan_plan_scan_forward(&args, &options, &plan), TILESCAN_OK)
          << tilescan_last_error();
      sizes.push_back(tilescan_plan_workspace_bytes(plan));
      tilescan_plan_destroy(plan);
    }
    EXPECT_EQ(sizes[0], sizes[1]) << num_threads << " threads";
    EXPECT_EQ(sizes[1], sizes[2]) << num_threads << " threads";
  }
}

}  // namespace
}  // namespace tilescan::testing
