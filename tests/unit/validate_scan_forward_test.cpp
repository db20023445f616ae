// Every message of the scan's validation, and what must pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

TEST(ValidateScanForward, AcceptsRequiredOperandsOnly) {
  EXPECT_EQ(MessageFor(ExampleScanForward()), "");
}

TEST(ValidateScanForward, AcceptsEveryOperandOfPackedSequences) {
  EXPECT_EQ(MessageFor(ExamplePacked()), "");
}

TEST(ValidateScanForward, GivesTheSizes) {
  Violations violations("scan_forward");
  const Validated<ScanForwardProblem> validated = Validate(ExamplePacked(), &violations);
  EXPECT_EQ(validated.problem.sizes.batch, 1);
  EXPECT_EQ(validated.problem.sizes.seqlen, 12);
  EXPECT_EQ(validated.problem.sizes.nheads, 6);
  EXPECT_EQ(validated.problem.sizes.headdim, 8);
  EXPECT_EQ(validated.problem.sizes.ngroups, 3);
  EXPECT_EQ(validated.problem.sizes.dstate, 5);
  EXPECT_EQ(validated.problem.sizes.num_seqs, 3);
}

TEST(ValidateScanForward, DropsTheData) {
  float element = 0;
  tilescan_scan_forward_args args = ExampleScanForward();
  args.x.data = &element;
  Violations violations("scan_forward");
  EXPECT_EQ(Validate(args, &violations).problem.operands.x.data, nullptr);
}

TEST(ValidateScanForward, AcceptsBatchAndSeqlenOfZero) {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (tilescan_tensor* tensor : {&args.x, &args.dt, &args.B, &args.C, &args.out}) {
    tensor->shape[0] = 0;
    tensor->shape[1] = 0;
  }
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateScanForward, AcceptsNoSequence) {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (tilescan_tensor* tensor : {&args.x, &args.dt, &args.B, &args.C, &args.out}) {
    tensor->shape[0] = 1;
    tensor->shape[1] = 0;
  }
  args.cu_seqlens = Described(tilescan_int64(), {1});
  EXPECT_EQ(MessageFor(args), "");
}

// ---- one operand by itself ----

TEST(ValidateScanForward, NamesAbsentRequiredOperands) {
  EXPECT_EQ(MessageFor(DefaultScanForwardArgs()),
            "scan_forward: x is required, but absent; dt is required, but absent; "
            "A is required, but absent; B is required, but absent; C is required, but absent; "
            "out is required, but absent");
}

TEST(ValidateScanForward, RefusesUnknownDType) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.D = Described(tilescan_make_dtype(TILESCAN_DTYPE_FLOAT, 8), {6});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: D has dtype code 2 with 8 bits and 1 lanes, expected a dtype of "
            "tilescan.h, or all of the tensor zero if absent");
}

TEST(ValidateScanForward, RefusesVectorDType) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A.dtype.lanes = 4;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: A has dtype code 2 with 32 bits and 4 lanes, expected a dtype of "
            "tilescan.h, or all of the tensor zero if absent");
}

TEST(ValidateScanForward, RefusesAHalfDescribedTensor) {
  float element = 0;
  tilescan_scan_forward_args args = ExampleScanForward();
  args.z.data = &element;  // and no dtype
  EXPECT_EQ(MessageFor(args),
            "scan_forward: z has dtype code 0 with 0 bits and 0 lanes, expected a dtype of "
            "tilescan.h, or all of the tensor zero if absent");
}

TEST(ValidateScanForward, RefusesTooManyDimensions) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A.ndim = 6;
  EXPECT_EQ(MessageFor(args), "scan_forward: A has ndim 6, expected 0 to 5");
}

TEST(ValidateScanForward, RefusesNegativeNdim) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A.ndim = -1;
  EXPECT_EQ(MessageFor(args), "scan_forward: A has ndim -1, expected 0 to 5");
}

TEST(ValidateScanForward, RefusesNegativeSize) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt.shape[1] = -12;
  EXPECT_EQ(MessageFor(args), "scan_forward: dt has shape (2, -12, 6), expected no negative size");
}

TEST(ValidateScanForward, RefusesAProductOfSizesThatOverflows) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt.shape[0] = args.dt.shape[1] = int64_t{1} << 40;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: dt has shape (1099511627776, 1099511627776, 6), expected at most 2^46 "
            "elements");
}

TEST(ValidateScanForward, RefusesAProductThatOverflowsBesideAZero) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt.shape[0] = args.dt.shape[1] = int64_t{1} << 40;
  args.dt.shape[2] = 0;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: dt has shape (1099511627776, 1099511627776, 0), expected at most 2^46 "
            "elements");
}

TEST(ValidateScanForward, RefusesOffsetsThatOverflow) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A.strides[0] = kLargest / 8;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: A has shape (6) and strides (1152921504606846975), expected offsets "
            "below 2^62 bytes");
}

TEST(ValidateScanForward, RefusesTheMostNegativeStride) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A.strides[0] = kSmallest;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: A has shape (6) and strides (-9223372036854775808), expected offsets "
            "below 2^62 bytes");
}

TEST(ValidateScanForward, RefusesOffsetsThatOverflowTogether) {
  tilescan_scan_forward_args args = ExampleScanForward();
  const int64_t third = (int64_t{1} << 62) / 4 / 3;  // of what fp32 elements may reach
  args.dt.strides[0] = third * 2;
  args.dt.strides[1] = -third / 11;
  args.dt.strides[2] = third / 5;
  EXPECT_NE(MessageFor(args).find("dt has shape (2, 12, 6) and strides"), std::string::npos);
  args.dt.strides[2] = 0;
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateScanForward, IgnoresTheStrideOfASizeOfOne) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.x.strides[0] = kSmallest;
  args.out.strides[0] = kLargest;
  EXPECT_EQ(MessageFor(args), "");
}

// ---- operands against each other ----

TEST(ValidateScanForward, NamesTheOperandThatSetASize) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.C = Described(tilescan_float32(), {2, 12, 3, 7});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: C has shape (2, 12, 3, 7), expected (2, 12, 3, 5) because B is "
            "(2, 12, 3, 5)");
}

TEST(ValidateScanForward, NamesBothOperandsThatSetSizes) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.final_states = Described(tilescan_float32(), {3, 6, 8, 7});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: final_states has shape (3, 6, 8, 7), expected (2, 6, 8, 5) because x "
            "is (2, 12, 6, 8) and B is (2, 12, 3, 5)");
}

TEST(ValidateScanForward, NamesSizesThatNothingHasSet) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.B = Described(tilescan_float32(), {2, 13, 3, 5});
  args.C.shape[1] = 12;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: B has shape (2, 13, 3, 5), expected (2, 12, ngroups, dstate) because "
            "x is (2, 12, 6, 8)");
}

TEST(ValidateScanForward, RefusesWrongNdim) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.x = Described(tilescan_float32(), {2, 12, 48});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: x has shape (2, 12, 48), expected (batch, seqlen, nheads, headdim)");
}

TEST(ValidateScanForward, NamesBothShapesOfD) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.D = Described(tilescan_float32(), {1, 6, 8});
  EXPECT_EQ(MessageFor(args), "scan_forward: D has shape (1, 6, 8), expected (6) or (6, 8)");
}

TEST(ValidateScanForward, ChecksDPerChannel) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.D = Described(tilescan_float32(), {6, 9});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: D has shape (6, 9), expected (6, 8) because x is (2, 12, 6, 8)");
}

struct ShapeCase {
  const char* name;
  tilescan_tensor tilescan_scan_forward_args::*operand;
  const char* expected;
};

class ScanForwardShapes : public testing::TestWithParam<ShapeCase> {};

// Each operand is tied to the others in its last dimension.
TEST_P(ScanForwardShapes, AreChecked) {
  tilescan_scan_forward_args args = ExamplePacked();
  tilescan_tensor& tensor = args.*GetParam().operand;
  tensor.shape[tensor.ndim - 1] -= 1;
  const std::string message = MessageFor(args);
  const std::string start = std::string("scan_forward: ") + GetParam().name + " has shape (";
  EXPECT_EQ(message.find(start), 0u) << message;
  EXPECT_NE(message.find(GetParam().expected), std::string::npos) << message;
  EXPECT_EQ(message.find(';'), std::string::npos) << message;
}

using Args = tilescan_scan_forward_args;
INSTANTIATE_TEST_SUITE_P(
    Operands, ScanForwardShapes,
    testing::Values(
        ShapeCase{"dt", &Args::dt, "expected (1, 12, 6) because x is (1, 12, 6, 8)"},
        ShapeCase{"A", &Args::A, "expected (6) because x is"},
        ShapeCase{"C", &Args::C, "expected (1, 12, 3, 5) because B is"},
        ShapeCase{"D", &Args::D, "expected (6, 8) because x is"},
        ShapeCase{"z", &Args::z, "expected (1, 12, 6, 8) because x is"},
        ShapeCase{"dt_bias", &Args::dt_bias, "expected (6) because x is"},
        ShapeCase{"initial_states", &Args::initial_states, "expected (3, 6, 8, 5) because B is"},
        ShapeCase{"out", &Args::out, "expected (1, 12, 6, 8) because x is"},
        ShapeCase{"final_states", &Args::final_states, "expected (3, 6, 8, 5) because B is"},
        ShapeCase{"states_out", &Args::states_out, "expected (1, 5, 6, 8, 5) because B is"}),
    [](const auto& named) { return std::string(named.param.name); });

TEST(ValidateScanForward, RefusesSizesOfZero) {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (tilescan_tensor* tensor : {&args.x, &args.out}) tensor->shape[2] = tensor->shape[3] = 0;
  args.dt.shape[2] = args.A.shape[0] = 0;
  for (tilescan_tensor* tensor : {&args.B, &args.C}) tensor->shape[2] = tensor->shape[3] = 0;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: x has shape (2, 12, 0, 0), expected nheads >= 1; "
            "x has shape (2, 12, 0, 0), expected headdim >= 1; "
            "B has shape (2, 12, 0, 0), expected ngroups >= 1; "
            "B has shape (2, 12, 0, 0), expected dstate >= 1");
}

TEST(ValidateScanForward, RefusesGroupsThatDoNotDivideHeads) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.B.shape[2] = args.C.shape[2] = 4;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: B has ngroups 4, expected a divisor of nheads 6 because x is "
            "(2, 12, 6, 8)");
}

TEST(ValidateScanForward, RefusesStatesBeyondCount) {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (tilescan_tensor* tensor : {&args.x, &args.out}) tensor->shape[3] = int64_t{1} << 30;
  args.x.strides[3] = 0;
  for (tilescan_tensor* tensor : {&args.B, &args.C}) tensor->shape[3] = int64_t{1} << 30;
  args.out = Described(tilescan_float32(), {2, 12, 6, int64_t{1} << 30});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: the states of batch 2, nheads 6, headdim 1073741824 and dstate "
            "1073741824 have more than 2^46 elements");
}

// ---- sequences ----

TEST(ValidateScanForward, ChecksSeqIdx) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.seq_idx = Described(tilescan_int64(), {2, 11});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: seq_idx has shape (2, 11), expected (2, 12) because x is "
            "(2, 12, 6, 8); seq_idx has dtype int64, expected int32");
}

TEST(ValidateScanForward, RefusesSeqIdxBesideCuSeqlens) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.seq_idx = Described(tilescan_int32(), {1, 12});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: seq_idx and cu_seqlens are both given, expected at most one of them");
}

TEST(ValidateScanForward, RefusesABatchOfPackedSequences) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.cu_seqlens = Described(tilescan_int32(), {4});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: x has batch 2, expected 1 because cu_seqlens is given");
}

TEST(ValidateScanForward, RefusesEmptyCuSeqlens) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.cu_seqlens = Described(tilescan_int32(), {0});
  args.initial_states = args.final_states = args.states_out = tilescan_tensor{};
  args.states_every = 0;
  EXPECT_EQ(MessageFor(args), "scan_forward: cu_seqlens has shape (0), expected num_seqs + 1 >= 1");
}

TEST(ValidateScanForward, RefusesWrongDTypeOfCuSeqlens) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.cu_seqlens.dtype = tilescan_float32();
  EXPECT_EQ(MessageFor(args),
            "scan_forward: cu_seqlens has dtype float32, expected int32 or int64");
}

TEST(ValidateScanForward, CountsStatesOfCuSeqlens) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.initial_states.shape[0] = 4;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: initial_states has shape (4, 6, 8, 5), expected (3, 6, 8, 5) because "
            "cu_seqlens is (4)");
}

TEST(ValidateScanForward, CountsRowsOfStatesOut) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.states_every = 5;
  args.states_out = Described(tilescan_float32(), {2, 3, 6, 8, 5});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: states_out has shape (2, 3, 6, 8, 5), expected (2, 2, 6, 8, 5) because "
            "seqlen is 12 and states_every is 5");
}

TEST(ValidateScanForward, CountsRowsOfStatesOutOfPackedSequences) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.states_out.shape[1] = 2;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: states_out has shape (1, 2, 6, 8, 5), expected (1, 5, 6, 8, 5) because "
            "seqlen is 12 and states_every is 5 and num_seqs is 3");
}

TEST(ValidateScanForward, RefusesStatesEveryWithoutStatesOut) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.states_every = 4;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: states_every is 4, expected 0 because states_out is absent");
}

TEST(ValidateScanForward, RefusesStatesOutWithoutStatesEvery) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.states_out = Described(tilescan_float32(), {2, 2, 6, 8, 5});
  EXPECT_EQ(MessageFor(args),
            "scan_forward: states_every is 0, expected 1 or more because states_out is given");
}

// ---- outputs and options ----

TEST(ValidateScanForward, RefusesOutputsThatOverlapThemselves) {
  tilescan_scan_forward_args args = ExamplePacked();
  args.out.strides[3] = 0;
  args.final_states.strides[0] = 1;
  args.states_out.strides[1] = 0;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: out has shape (1, 12, 6, 8) and strides (0, 48, 8, 0), expected strides "
            "that give each element of an output its own place; "
            "final_states has shape (3, 6, 8, 5) and strides (1, 40, 5, 1), expected strides that "
            "give each element of an output its own place; "
            "states_out has shape (1, 5, 6, 8, 5) and strides (0, 0, 40, 5, 1), expected strides "
            "that give each element of an output its own place");
}

TEST(ValidateScanForward, AcceptsAReversedOutput) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.out.strides[1] = -args.out.strides[1];
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateScanForward, AcceptsExpandedInputs) {
  tilescan_scan_forward_args args = ExampleScanForward();
  for (int64_t& stride : args.x.strides) stride = 0;
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateScanForward, RefusesDtSoftplusBeyondOne) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt_softplus = 2;
  EXPECT_EQ(MessageFor(args), "scan_forward: dt_softplus is 2, expected 0 or 1");
}

TEST(ValidateScanForward, RefusesLimitsOutOfOrder) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt_limit[0] = 0.5f;
  args.dt_limit[1] = 0.25f;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: dt_limit is (0.5, 0.25), expected two numbers, the smaller first");
}

TEST(ValidateScanForward, RefusesLimitsThatAreNoNumbers) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.dt_limit[1] = std::nanf("");
  EXPECT_EQ(MessageFor(args),
            "scan_forward: dt_limit is (0, nan), expected two numbers, the smaller first");
}

TEST(ValidateScanForward, NamesEverythingAtOnce) {
  tilescan_scan_forward_args args = ExampleScanForward();
  args.A = tilescan_tensor{};
  args.dt.ndim = 9;
  args.C.shape[3] = 4;
  args.z = Described(tilescan_int32(), {2, 12, 6, 8});
  args.dt_softplus = -1;
  EXPECT_EQ(MessageFor(args),
            "scan_forward: dt has ndim 9, expected 0 to 5; A is required, but absent; "
            "C has shape (2, 12, 3, 4), expected (2, 12, 3, 5) because B is (2, 12, 3, 5); "
            "z has dtype int32, expected float32 because x is float32; "
            "dt_softplus is -1, expected 0 or 1");
}

}  // namespace
}  // namespace tilescan::plan
