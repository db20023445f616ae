// Every message of the decoding step's validation, what must pass, and the normal form.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/example_args.h"

namespace tilescan::plan {
namespace {

using Args = tilescan_state_update_args;

StateUpdateProblem ProblemOf(const Args& args) {
  Violations violations("state_update");
  const Validated<StateUpdateProblem> validated = Validate(args, &violations);
  EXPECT_EQ(violations.ToStatus().message(), "");
  return validated.problem;
}

// A view of more dimensions, with stride 0 along those added at the end.
tilescan_tensor Expanded(tilescan_tensor tensor, std::initializer_list<int64_t> added) {
  for (const int64_t size : added) {
    tensor.shape[tensor.ndim] = size;
    tensor.strides[tensor.ndim] = 0;
    ++tensor.ndim;
  }
  return tensor;
}

TEST(ValidateStateUpdate, AcceptsRequiredOperandsOnly) {
  EXPECT_EQ(MessageFor(ExampleStateUpdate()), "");
}

TEST(ValidateStateUpdate, AcceptsEveryOperandWithTokens) {
  EXPECT_EQ(MessageFor(ExampleStateUpdateTokens()), "");
}

TEST(ValidateStateUpdate, GivesTheSizes) {
  const StateUpdateSizes sizes = ProblemOf(ExampleStateUpdateTokens()).sizes;
  EXPECT_EQ(sizes.batch, 2);
  EXPECT_EQ(sizes.num_tokens, 4);
  EXPECT_EQ(sizes.num_slots, 7);
  EXPECT_EQ(sizes.nheads, 6);
  EXPECT_EQ(sizes.headdim, 8);
  EXPECT_EQ(sizes.ngroups, 3);
  EXPECT_EQ(sizes.dstate, 5);
}

TEST(ValidateStateUpdate, InsertsTheTokenDimension) {
  const StateUpdateProblem problem = ProblemOf(ExampleStateUpdate());
  EXPECT_EQ(problem.sizes.num_tokens, 1);
  EXPECT_EQ(problem.sizes.num_slots, 2);
  EXPECT_EQ(problem.operands.x.ndim, 4);
  EXPECT_EQ(problem.operands.x.shape, (std::array<int64_t, 5>{2, 1, 6, 8, 0}));
  EXPECT_EQ(problem.operands.x.strides, (std::array<int64_t, 5>{48, 0, 8, 1, 0}));
  EXPECT_EQ(problem.operands.dt.shape, (std::array<int64_t, 5>{2, 1, 6, 0, 0}));
  EXPECT_EQ(problem.operands.B.shape, (std::array<int64_t, 5>{2, 1, 3, 5, 0}));
  EXPECT_EQ(problem.operands.C.strides, (std::array<int64_t, 5>{15, 0, 5, 1, 0}));
  EXPECT_EQ(problem.operands.out.ndim, 4);
  EXPECT_FALSE(problem.operands.z.present());
  EXPECT_EQ(problem.operands.z.ndim, 0);
}

TEST(ValidateStateUpdate, DropsExpandedDimensions) {
  for (const Args& plain : {ExampleStateUpdate(), ExampleStateUpdateTokens()}) {
    Args args = plain;
    args.dt_bias = Described(tilescan_float32(), {6});
    const StateUpdateProblem expected = ProblemOf(args);
    args.A = Expanded(args.A, {8, 5});
    args.dt = Expanded(args.dt, {8});
    args.dt_bias = Expanded(args.dt_bias, {8});
    const StateUpdateProblem problem = ProblemOf(args);
    EXPECT_EQ(problem.operands.A.ndim, 1);
    EXPECT_EQ(problem.operands.A.shape, expected.operands.A.shape);
    EXPECT_EQ(problem.operands.dt.ndim, 3);
    EXPECT_EQ(problem.operands.dt.shape, expected.operands.dt.shape);
    EXPECT_EQ(problem.operands.dt.strides, expected.operands.dt.strides);
    EXPECT_EQ(problem.operands.dt_bias.ndim, 1);
    EXPECT_EQ(problem.operands.dt_bias.strides, expected.operands.dt_bias.strides);
  }
}

TEST(ValidateStateUpdate, KeepsDPerChannel) {
  Args args = ExampleStateUpdate();
  args.D = Described(tilescan_float32(), {6, 8});
  EXPECT_EQ(ProblemOf(args).operands.D.ndim, 2);
}

TEST(ValidateStateUpdate, AcceptsAnyDTypeOfEachOperand) {
  Args args = ExampleStateUpdateTokens();
  args.state.dtype = tilescan_float16();
  args.x.dtype = tilescan_bfloat16();
  args.B.dtype = tilescan_float16();
  args.C.dtype = tilescan_float32();
  args.z.dtype = tilescan_float16();
  args.out.dtype = tilescan_float32();
  args.fresh.dtype = tilescan_uint8();
  args.state_batch_indices.dtype = tilescan_int32();
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateStateUpdate, AcceptsABatchOfZero) {
  Args args = ExampleStateUpdate();
  for (tilescan_tensor* tensor : {&args.state, &args.x, &args.dt, &args.B, &args.C, &args.out}) {
    tensor->shape[0] = 0;
  }
  EXPECT_EQ(MessageFor(args), "");
}

// ---- messages ----

TEST(ValidateStateUpdate, NamesAbsentRequiredOperands) {
  EXPECT_EQ(MessageFor(DefaultStateUpdateArgs()),
            "state_update: state is required, but absent; x is required, but absent; "
            "dt is required, but absent; A is required, but absent; B is required, but absent; "
            "C is required, but absent; out is required, but absent");
}

TEST(ValidateStateUpdate, RefusesXWithWrongNdim) {
  Args args = ExampleStateUpdate();
  args.x = Described(tilescan_float32(), {2, 48});
  EXPECT_EQ(MessageFor(args),
            "state_update: x has shape (2, 48), expected (batch, nheads, headdim) or "
            "(batch, T, nheads, headdim)");
}

TEST(ValidateStateUpdate, RefusesNoToken) {
  Args args = ExampleStateUpdateTokens();
  for (tilescan_tensor* tensor : {&args.x, &args.dt, &args.B, &args.C, &args.z, &args.out}) {
    tensor->shape[1] = 0;
  }
  EXPECT_EQ(MessageFor(args), "state_update: x has shape (2, 0, 6, 8), expected T >= 1");
}

TEST(ValidateStateUpdate, WantsTokensWhereXHasThem) {
  Args args = ExampleStateUpdateTokens();
  args.B = Described(tilescan_float32(), {2, 3, 5});
  EXPECT_EQ(MessageFor(args),
            "state_update: B has shape (2, 3, 5), expected (2, 4, ngroups, dstate)");
}

TEST(ValidateStateUpdate, WantsASlotPerRowWithoutIndices) {
  Args args = ExampleStateUpdate();
  args.state.shape[0] = 3;
  EXPECT_EQ(MessageFor(args),
            "state_update: state has shape (3, 6, 8, 5), expected (2, 6, 8, 5) because x is "
            "(2, 6, 8)");
}

struct ShapeCase {
  const char* name;
  tilescan_tensor Args::*operand;
  const char* expected;
};

class StateUpdateShapes : public testing::TestWithParam<ShapeCase> {};

// Each operand is tied to the others in its last dimension.
TEST_P(StateUpdateShapes, AreChecked) {
  Args args = ExampleStateUpdateTokens();
  tilescan_tensor& tensor = args.*GetParam().operand;
  tensor.shape[tensor.ndim - 1] -= 1;
  const std::string message = MessageFor(args);
  const std::string start = std::string("state_update: ") + GetParam().name + " has shape (";
  EXPECT_EQ(message.find(start), 0u) << message;
  EXPECT_NE(message.find(GetParam().expected), std::string::npos) << message;
  EXPECT_EQ(message.find(';'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Operands, StateUpdateShapes,
    testing::Values(ShapeCase{"state", &Args::state, "expected (slots, 6, 8, 5) because B is"},
                    ShapeCase{"dt", &Args::dt, "expected (2, 4, 6) because x is"},
                    ShapeCase{"A", &Args::A, "expected (6) because x is"},
                    ShapeCase{"C", &Args::C, "expected (2, 4, 3, 5) because B is"},
                    ShapeCase{"D", &Args::D, "expected (6) because x is"},
                    ShapeCase{"z", &Args::z, "expected (2, 4, 6, 8) because x is"},
                    ShapeCase{"dt_bias", &Args::dt_bias, "expected (6) because x is"},
                    ShapeCase{"state_batch_indices", &Args::state_batch_indices,
                              "expected (2) because x is"},
                    ShapeCase{"fresh", &Args::fresh, "expected (2) because x is"},
                    ShapeCase{"num_accepted", &Args::num_accepted, "expected (2) because x is"},
                    ShapeCase{"out", &Args::out, "expected (2, 4, 6, 8) because x is"}),
    [](const auto& named) { return std::string(named.param.name); });

TEST(ValidateStateUpdate, NamesBothShapesOfA) {
  Args args = ExampleStateUpdate();
  args.A = Described(tilescan_float32(), {6, 8});
  EXPECT_EQ(MessageFor(args), "state_update: A has shape (6, 8), expected (6) or (6, 8, 5)");
}

TEST(ValidateStateUpdate, RefusesAPerChannel) {
  Args args = ExampleStateUpdate();
  args.A = Described(tilescan_float32(), {6, 8, 5});
  EXPECT_EQ(MessageFor(args),
            "state_update: A has shape (6, 8, 5) and strides (40, 5, 1), expected stride 0 from "
            "dimension 1 on: a value per channel is Mamba-1's, Mamba-2 has one per head");
}

TEST(ValidateStateUpdate, RefusesDtPerChannel) {
  Args args = ExampleStateUpdate();
  args.dt = Described(tilescan_float32(), {2, 6, 8});
  EXPECT_EQ(MessageFor(args),
            "state_update: dt has shape (2, 6, 8) and strides (48, 8, 1), expected stride 0 from "
            "dimension 2 on: a value per channel is Mamba-1's, Mamba-2 has one per head");
}

TEST(ValidateStateUpdate, RefusesDtBiasPerChannel) {
  Args args = ExampleStateUpdate();
  args.dt_bias = Described(tilescan_float32(), {6, 8});
  EXPECT_EQ(MessageFor(args),
            "state_update: dt_bias has shape (6, 8) and strides (8, 1), expected stride 0 from "
            "dimension 1 on: a value per channel is Mamba-1's, Mamba-2 has one per head");
}

TEST(ValidateStateUpdate, RefusesGroupsThatDoNotDivideHeads) {
  Args args = ExampleStateUpdate();
  args.B.shape[1] = args.C.shape[1] = 4;
  EXPECT_EQ(MessageFor(args),
            "state_update: B has ngroups 4, expected a divisor of nheads 6 because x is "
            "(2, 6, 8)");
}

TEST(ValidateStateUpdate, ChecksDTypesOfIndices) {
  Args args = ExampleStateUpdateTokens();
  args.state_batch_indices.dtype = tilescan_uint8();
  args.fresh.dtype = tilescan_int32();
  args.num_accepted.dtype = tilescan_int64();
  EXPECT_EQ(MessageFor(args),
            "state_update: state_batch_indices has dtype uint8, expected int32 or int64; "
            "fresh has dtype int32, expected bool or uint8; "
            "num_accepted has dtype int64, expected int32");
}

class StateUpdateFloats
    : public testing::TestWithParam<std::pair<const char*, tilescan_tensor Args::*>> {};

TEST_P(StateUpdateFloats, AreNotFloat64BesideAFloat32X) {
  const auto& [name, operand] = GetParam();
  Args args = ExampleStateUpdateTokens();
  (args.*operand).dtype = tilescan_float64();
  EXPECT_EQ(MessageFor(args),
            std::string("state_update: ") + name +
                " has dtype float64, expected float32, bfloat16 or float16 because x is float32");
}

INSTANTIATE_TEST_SUITE_P(Operands, StateUpdateFloats,
                         testing::Values(std::pair{"state", &Args::state},
                                         std::pair{"dt", &Args::dt}, std::pair{"A", &Args::A},
                                         std::pair{"B", &Args::B}, std::pair{"C", &Args::C},
                                         std::pair{"D", &Args::D}, std::pair{"z", &Args::z},
                                         std::pair{"dt_bias", &Args::dt_bias},
                                         std::pair{"out", &Args::out}),
                         [](const auto& named) { return std::string(named.param.first); });

TEST(ValidateStateUpdate, TiesOperandsToAFloat64X) {
  Args args = ExampleStateUpdate(tilescan_float64());
  EXPECT_EQ(MessageFor(args), "");
  args.state.dtype = tilescan_float32();
  EXPECT_EQ(MessageFor(args), "");
  args.B.dtype = args.C.dtype = args.out.dtype = tilescan_float32();
  EXPECT_EQ(MessageFor(args),
            "state_update: B has dtype float32, expected float64 because x is float64; "
            "C has dtype float32, expected float64 because x is float64; "
            "out has dtype float32, expected float64 because x is float64");
}

TEST(ValidateStateUpdate, RefusesOutputsThatOverlapThemselves) {
  Args args = ExampleStateUpdate();
  args.state.strides[0] = 0;
  args.out.strides[2] = 0;
  EXPECT_EQ(MessageFor(args),
            "state_update: state has shape (2, 6, 8, 5) and strides (0, 40, 5, 1), expected "
            "strides that give each element of an output its own place; "
            "out has shape (2, 6, 8) and strides (48, 8, 0), expected strides that give each "
            "element of an output its own place");
}

TEST(ValidateStateUpdate, ChecksStepOptions) {
  Args args = ExampleStateUpdate();
  args.dt_softplus = 7;
  args.dt_limit[0] = std::nanf("");
  EXPECT_EQ(MessageFor(args),
            "state_update: dt_softplus is 7, expected 0 or 1; dt_limit is (nan, inf), expected "
            "two numbers, the smaller first");
}

TEST(ValidateStateUpdate, AcceptsUnlimitedSteps) {
  Args args = ExampleStateUpdate();
  args.dt_limit[0] = -INFINITY;
  EXPECT_EQ(MessageFor(args), "");
}

TEST(ValidateStateUpdate, PassesOverAnUnreadableX) {
  Args args = ExampleStateUpdate();
  args.x.dtype = tilescan_make_dtype(3, 64);
  EXPECT_EQ(MessageFor(args),
            "state_update: x has dtype code 3 with 64 bits and 1 lanes, expected a dtype of "
            "tilescan.h, or all of the tensor zero if absent");
}

}  // namespace
}  // namespace tilescan::plan
