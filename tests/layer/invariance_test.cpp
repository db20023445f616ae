// What must not change a bit of the result: threads, executors, the company of other rows, where a
// sequence is cut, in place or not.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/select.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

ConvCase SequencesCase(DType dtype) {
  ConvCase c = RandomConvCase("invariance", 3, 600, 40, 6100);
  AddOptionalOperands(&c, 6100);
  c.x_dtype = c.initial_states_dtype = c.final_states_dtype = dtype;
  return c;
}

// Of every operation enough that the CPU takes several threads.
ConvUpdateCase StepCase(DType dtype) {
  ConvUpdateCase c = RandomConvUpdateCase("invariance", 5, 2, 800, 6101);
  AddOptionalOperands(&c, 6101);
  c.state_len = 4;
  c.conv_state_dtype = c.x_dtype = c.out_dtype = dtype;
  return c;
}

NormCase GroupsCase(DType dtype) {
  NormCase c = RandomNormCase("invariance", 3, 70, 288, 6102);
  AddOptionalOperands(&c, 6102);
  c.group_size = 96;
  c.x_dtype = c.z_dtype = c.out_dtype = dtype;
  return c;
}

SplitCase LayerCase(DType dtype) {
  SplitCase c = RandomSplitCase("invariance", {3, 120, 4, 8, 2, 12}, 6104);
  AddOptionalOperands(&c, 6104);
  c.zxbcdt_dtype = c.initial_states_dtype = dtype;
  if (dtype == DType::kFloat64) c.final_states_dtype = dtype;
  return c;
}

// What all rows of a batch share.
bool IsWeight(std::string_view name) {
  return name == "weight" || name == "bias" || name == "conv1d_weight" || name == "conv1d_bias" ||
         name == "A" || name == "dt_bias" || name == "D" || name == "rmsnorm_weight";
}

// Rows of a batch, with their states.
template <typename Operands>
Operands SelectBatch(const Operands& operands, const std::vector<int64_t>& rows) {
  return CopyOperands(operands, [&](const char* name, const HostTensor& tensor, bool) {
    return IsWeight(name) ? WithLayout(tensor, Layout::kCompact) : Select(tensor, 0, rows);
  });
}

template <typename Case>
void CheckThreads(const Case& c, Target target) {
  target.num_threads = 1;
  const auto expected = Solve(c, target);
  for (const int32_t num_threads : {2, 3, 7}) {
    target.num_threads = num_threads;
    ExpectSameBits(Solve(c, target), expected, std::to_string(num_threads) + " threads");
  }
}

template <typename Case>
void CheckRowsAlone(const Case& c, const Target& target) {
  const auto unsolved = BuildOperands(c);
  const auto batch = Solve(c, target);
  for (int64_t row = 0; row < c.batch; ++row) {
    const auto alone = SelectBatch(unsolved, {row});
    ExpectRun(alone, target);
    ExpectSameBits(alone, SelectBatch(batch, {row}), "row " + std::to_string(row));
  }
}

// Runs tasks one after another on the calling thread, last first.
void RunBackwards(void*, int32_t num_tasks, tilescan_task task, void* task_context) {
  for (int32_t idx = num_tasks - 1; idx >= 0; --idx) task(task_context, idx);
}

template <typename Case>
void CheckExecutor(const Case& c, const Target& target) {
  const tilescan_executor executor = {nullptr, RunBackwards};
  tilescan_options options = target.Options();
  options.executor = &executor;
  options.num_threads = 5;
  const auto operands = BuildOperands(c);
  const RunResult result = RunCall(operands, options);
  EXPECT_TRUE(result.ok()) << result.message;
  ExpectSameBits(operands, Solve(c, target), "backwards");
}

template <typename Case>
void CheckCompany(const Case& c, const Target& target) {
  CheckThreads(c, target);
  CheckRowsAlone(c, target);
  CheckExecutor(c, target);
}

class ConvInvarianceOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvInvarianceOn, Company) {
  for (const DType dtype : kDTypes) CheckCompany(SequencesCase(dtype), GetParam());
}

// A sequence in two pieces, the second from the final states of the first, which are updated in
// place.
TEST_P(ConvInvarianceOn, PiecesOfASequence) {
  for (const DType dtype : kDTypes) {
    const ConvOperands unsolved = BuildOperands(SequencesCase(dtype));
    const ConvOperands whole = Solve(SequencesCase(dtype), GetParam());
    for (const int64_t cut : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{257}, int64_t{599}}) {
      const auto tokens = [&](const ConvOperands& operands, int64_t first, int64_t count) {
        return CopyOperands(operands, [&](const char* name, const HostTensor& tensor, bool) {
          const bool has_tokens = std::string_view(name) == "x" || std::string_view(name) == "out";
          return has_tokens ? Select(tensor, 1, Range(first, count))
                            : WithLayout(tensor, Layout::kCompact);
        });
      };
      ConvOperands states = tokens(unsolved, 0, 0);
      states.final_states.Assign(states.initial_states);
      for (const auto& [first, count] : {std::pair<int64_t, int64_t>(0, cut), {cut, 600 - cut}}) {
        const ConvOperands piece = tokens(unsolved, first, count);
        tilescan_causal_conv1d_forward_args args = MakeArgs(piece);
        args.initial_states = args.final_states = states.final_states.Describe();
        const RunResult result = RunArgs(args, GetParam().Options());
        EXPECT_EQ(result.status, TILESCAN_OK) << result.message;
        EXPECT_TRUE(piece.out.HasSameBits(Select(whole.out, 1, Range(first, count))))
            << "from " << first << " " << count << " tokens";
      }
      EXPECT_TRUE(states.final_states.HasSameBits(whole.final_states)) << "cut at " << cut;
    }
  }
}

// What a packed sequence, or a run of ids, gives alone.
TEST_P(ConvInvarianceOn, PackedSequencesAreRowsOfABatch) {
  ConvCase c = SequencesCase(DType::kFloat32);
  const ConvOperands rows = Solve(c, GetParam());
  ConvOperands packed = BuildOperands(c);
  for (HostTensor* tensor : {&packed.x, &packed.out}) {
    HostTensor flat(tensor->dtype(), {1, 3 * 600, 40});
    for (int64_t idx = 0; idx < flat.num_elements(); ++idx) flat.SetBits(idx, tensor->Bits(idx));
    *tensor = std::move(flat);
  }
  packed.cu_seqlens = HostTensor(DType::kInt32, {4});
  for (int64_t idx = 0; idx < 4; ++idx) packed.cu_seqlens.Set(idx, static_cast<double>(idx * 600));
  ExpectRun(packed, GetParam());
  for (int64_t idx = 0; idx < packed.out.num_elements(); ++idx) {
    ASSERT_EQ(packed.out.Bits(idx), rows.out.Bits(idx)) << idx;
  }
  EXPECT_TRUE(packed.final_states.HasSameBits(rows.final_states));
}

// The step after a prompt: the state that the step keeps is the scan's final states.
TEST_P(ConvInvarianceOn, StepsGoOnFromASequence) {
  for (const DType dtype : kDTypes) {
    const ConvOperands unsolved = BuildOperands(SequencesCase(dtype));
    const ConvOperands whole = Solve(SequencesCase(dtype), GetParam());
    ConvUpdateOperands steps;
    steps.options = unsolved.options;
    steps.conv_state = HostTensor(dtype, {3, 40, 3});
    steps.conv_state.Assign(unsolved.initial_states);
    steps.weight = WithLayout(unsolved.weight, Layout::kCompact);
    steps.bias = WithLayout(unsolved.bias, Layout::kCompact);
    for (const int64_t first : {0, 5, 10}) {
      steps.x = Select(unsolved.x, 1, Range(first, 5));
      steps.out = HostTensor(dtype, {3, 5, 40});
      Target target = GetParam();
      ExpectRun(steps, target);
      const HostTensor expected = Select(whole.out, 1, Range(first, 5));
      for (int64_t idx = 0; idx < expected.num_elements(); ++idx) {
        ASSERT_EQ(steps.out.Bits(idx), expected.Bits(idx)) << "from " << first << ", " << idx;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConvInvarianceOn,
                         ::testing::ValuesIn(AvailableTargets(ConvOperands::kOperation)),
                         NameOfTest());

class ConvUpdateInvarianceOn : public ::testing::TestWithParam<Target> {};

TEST_P(ConvUpdateInvarianceOn, Company) {
  for (const DType dtype : kDTypes) CheckCompany(StepCase(dtype), GetParam());
}

// A circular buffer holds what a shifted one does, in another place.
TEST_P(ConvUpdateInvarianceOn, CircularOrShifted) {
  ConvUpdateCase c = StepCase(DType::kFloat32);
  const ConvUpdateOperands shifted = Solve(c, GetParam());
  // At a multiple of state_len the oldest value is the first in either.
  c.cache_seqlens = {0, 4, 8, 400, 12};
  const ConvUpdateOperands circular = Solve(c, GetParam());
  EXPECT_TRUE(circular.out.HasSameBits(shifted.out));
  for (int64_t idx = 0; idx < shifted.conv_state.num_elements(); ++idx) {
    // Two tokens on, the oldest is at place 2.
    EXPECT_EQ(circular.conv_state.Bits(idx / 4 * 4 + (idx + 2) % 4), shifted.conv_state.Bits(idx));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConvUpdateInvarianceOn,
                         ::testing::ValuesIn(AvailableTargets(ConvUpdateOperands::kOperation)),
                         NameOfTest());

class NormInvarianceOn : public ::testing::TestWithParam<Target> {};

TEST_P(NormInvarianceOn, Company) {
  for (const DType dtype : kDTypes) CheckCompany(GroupsCase(dtype), GetParam());
}

TEST_P(NormInvarianceOn, InPlace) {
  for (const DType dtype : kDTypes) {
    for (const int64_t dim : {96, 5120, 40000}) {
      NormCase c = RandomNormCase("in_place", 2, 0, dim, 6103);
      AddOptionalOperands(&c, 6103);
      c.x_dtype = c.out_dtype = dtype;
      const NormOperands expected = Solve(c, GetParam());
      const NormOperands operands = BuildOperands(c);
      tilescan_rms_norm_gated_forward_args args = MakeArgs(operands);
      args.out = args.x;
      const RunResult result = RunArgs(args, GetParam().Options());
      EXPECT_EQ(result.status, TILESCAN_OK) << result.message;
      EXPECT_TRUE(operands.x.HasSameBits(expected.out)) << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormInvarianceOn,
                         ::testing::ValuesIn(AvailableTargets(NormOperands::kOperation)),
                         NameOfTest());

class SplitInvarianceOn : public ::testing::TestWithParam<Target> {};

TEST_P(SplitInvarianceOn, Company) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    CheckCompany(LayerCase(dtype), GetParam());
  }
}

// A prompt in two pieces, the second from the final states of the first, which are updated in
// place.
TEST_P(SplitInvarianceOn, PiecesOfASequence) {
  // Where every kernel's chunks begin.
  constexpr int64_t kCut = 96, kSeqlen = 120;
  const Target target = GetParam();
  tilescan_options options = target.Options();
  options.chunk_size = 48;
  // What states are kept in on the way.
  const SplitCase c = LayerCase(target.backend == "reference" ? DType::kFloat64 : DType::kFloat32);
  const SplitOperands unsolved = BuildOperands(c);
  const SplitOperands whole = Solve(c, target, options.chunk_size);
  SplitOperands states = Copy(unsolved);
  states.conv_final_states.Assign(states.conv_initial_states);
  states.final_states.Assign(states.initial_states);
  for (const auto& [first, count] :
       {std::pair<int64_t, int64_t>(0, kCut), {kCut, kSeqlen - kCut}}) {
    const HostTensor zxbcdt = Select(unsolved.zxbcdt, 1, Range(first, count));
    const HostTensor out = Select(unsolved.out, 1, Range(first, count));
    tilescan_split_conv1d_scan_forward_args args = MakeArgs(states);
    args.zxbcdt = zxbcdt.Describe();
    args.out = out.Describe();
    args.conv_initial_states = args.conv_final_states;
    args.initial_states = args.final_states;
    const RunResult result = RunArgs(args, options);
    EXPECT_EQ(result.status, TILESCAN_OK) << result.message;
    EXPECT_TRUE(out.HasSameBits(Select(whole.out, 1, Range(first, count)))) << "from " << first;
  }
  EXPECT_TRUE(states.conv_final_states.HasSameBits(whole.conv_final_states));
  EXPECT_TRUE(states.final_states.HasSameBits(whole.final_states));
}

INSTANTIATE_TEST_SUITE_P(All, SplitInvarianceOn,
                         ::testing::ValuesIn(HostTargets(SplitOperands::kOperation)), NameOfTest());

}  // namespace
}  // namespace tilescan::testing
