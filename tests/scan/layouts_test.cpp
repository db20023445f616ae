// However operands lie in memory, the bits are those of compact operands.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kShifted, Layout::kPitched, Layout::kSpread,
                               Layout::kTransposed, Layout::kReversed};

// Every operand there, sizes that are multiples of nothing and sizes that vectors like.
ScanCase CaseWith(const std::string& kind) {
  const bool is_odd = kind.find("odd") != std::string::npos;
  const CaseSizes sizes = is_odd ? CaseSizes{2, 71, 4, 13, 2, 19} : CaseSizes{2, 64, 4, 64, 2, 128};
  ScanCase c = RandomScanCase(kind, sizes, is_odd ? 600 : 601);
  AddOptionalOperands(&c, 600);
  c.is_D_per_channel = is_odd;
  c.states_every = 16;
  c.seq_idx.assign(static_cast<size_t>(sizes.batch * sizes.seqlen), 3);
  c.seq_idx[40] = -1;
  c.seq_idx.back() = 4;
  if (kind.find("bfloat16") != std::string::npos) c.x_dtype = DType::kBFloat16;
  if (kind.find("float16_states") != std::string::npos) {
    c.initial_states_dtype = c.final_states_dtype = c.states_out_dtype = DType::kFloat16;
  }
  return c;
}

std::vector<std::string> Kinds() {
  return {"odd_float32", "even_float32", "odd_bfloat16", "even_bfloat16_float16_states"};
}

class ScanLayoutOn : public ::testing::TestWithParam<std::tuple<std::string, Target>> {};

TEST_P(ScanLayoutOn, EveryLayoutGivesTheBitsOfCompactOperands) {
  const auto& [kind, target] = GetParam();
  ScanCase c = CaseWith(kind);
  if (!target.is_general) c.x_dtype = WidestDType(target);
  const ScanOperands expected = Solve(c, target);
  for (const Layout layout : kLayouts) {
    const ScanOperands operands = BuildOperands(c, layout);
    ExpectRun(operands, target);
    ExpectSameBits(operands, expected, LayoutName(layout));
  }
}

// One operand at a time: a layout of its own must not be mistaken for another's.
TEST_P(ScanLayoutOn, OneOperandOfAnotherLayout) {
  const auto& [kind, target] = GetParam();
  ScanCase c = CaseWith(kind);
  if (!target.is_general) c.x_dtype = WidestDType(target);
  const ScanOperands unsolved = BuildOperands(c);
  const ScanOperands expected = Solve(c, target);
  std::vector<std::string> names;
  ScanOperands::ForEach(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
    if (tensor.present()) names.emplace_back(name);
  });
  for (const std::string& different : names) {
    const ScanOperands operands =
        CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
          return WithLayout(tensor, name == different ? Layout::kSpread : Layout::kCompact);
        });
    ExpectRun(operands, target);
    ExpectSameBits(operands, expected, different);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ScanLayoutOn,
    ::testing::Combine(::testing::ValuesIn(Kinds()),
                       ::testing::ValuesIn(TargetsOfSomeDType("scan_forward"))),
    NameOfTest());

class ScanOn : public ::testing::TestWithParam<Target> {};

// z, x, B, C and dt as slices of one buffer, as a model's projection makes them, with an odd row
// pitch and a base pointer that is one element off.
TEST_P(ScanOn, SlicesOfOneBuffer) {
  constexpr int64_t kSeqlen = 100;
  constexpr int64_t kPitch = 64 + 64 + 64 + 64 + 1;
  ScanCase c = RandomScanCase("C11/slices", {1, kSeqlen, 1, 64, 1, 64}, 610);
  AddOptionalOperands(&c, 610);
  for (const DType dtype : DTypesOf(GetParam())) {
    c.x_dtype = c.dt_dtype = dtype;
    const ScanOperands expected = Solve(c, GetParam());
    const ScanOperands operands = BuildOperands(c);
    const HostTensor buffer(dtype, {kSeqlen, kPitch}, Layout::kShifted);
    tilescan_scan_forward_args args = MakeArgs(operands);
    int64_t column = 0;
    const auto move_into_buffer = [&](const HostTensor& source, tilescan_tensor* described) {
      HostTensor& target = const_cast<HostTensor&>(buffer);
      const int64_t width = source.num_elements() / kSeqlen;
      for (int64_t idx = 0; idx < source.num_elements(); ++idx) {
        target.SetBits(idx / width * kPitch + column + idx % width, source.Bits(idx));
      }
      described->data = buffer.view().AtBytes(column);
      described->strides[0] = kSeqlen * kPitch;
      described->strides[1] = kPitch;
      column += width;
    };
    move_into_buffer(operands.z, &args.z);
    move_into_buffer(operands.x, &args.x);
    move_into_buffer(operands.B, &args.B);
    move_into_buffer(operands.C, &args.C);
    move_into_buffer(operands.dt, &args.dt);

    const RunResult result = RunArgs(args, GetParam().Options());
    EXPECT_TRUE(result.ok()) << result.message;
    ExpectSameBits(operands, expected, DTypeName(dtype));
  }
}

// Inputs may repeat an element: B and C shared by all tokens, x by all heads.
TEST_P(ScanOn, InputsOfStrideZero) {
  ScanCase c = RandomScanCase("stride_zero", {2, 50, 4, 12, 2, 20}, 611);
  c.x_dtype = WidestDType(GetParam());
  AddOptionalOperands(&c, 611);
  c.B = [B = c.B](int64_t idx) { return B(idx % 40); };
  c.C = [C = c.C](int64_t idx) { return C(idx % 40); };
  c.x = [x = c.x](int64_t idx) { return x(idx / 48 * 48 + idx % 12); };
  c.dt = Constant(0.25);
  const ScanOperands expected = Solve(c, GetParam());
  const ScanOperands operands = BuildOperands(c);
  tilescan_scan_forward_args args = MakeArgs(operands);
  args.B.strides[0] = args.B.strides[1] = args.C.strides[0] = args.C.strides[1] = 0;
  args.x.strides[2] = 0;
  for (int dim = 0; dim < 3; ++dim) args.dt.strides[dim] = 0;

  const RunResult result = RunArgs(args, GetParam().Options());
  EXPECT_TRUE(result.ok()) << result.message;
  ExpectSameBits(operands, expected, "stride 0");
}

INSTANTIATE_TEST_SUITE_P(All, ScanOn, ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")),
                         NameOfTest());

// Offsets beyond 2^31 elements: one operand at a time, every dimension it has.
class FarScanOn : public ::testing::TestWithParam<Target> {};

TEST_P(FarScanOn, OffsetsBeyond32Bits) {
  ScanCase c = RandomScanCase("far", {2, 5, 4, 3, 2, 2}, 612);
  c.x_dtype = WidestDType(GetParam());
  AddOptionalOperands(&c, 612);
  c.is_D_per_channel = true;
  c.states_every = 2;
  c.seq_idx = {0, 0, 1, 1, 1, 0, -1, 0, 0, 0};
  const ScanOperands unsolved = BuildOperands(c);
  const ScanOperands expected = Solve(c, GetParam());
  ScanOperands::ForEach(unsolved, [&](const char* far_name, const HostTensor& far, bool) {
    for (size_t dim = 0; far.present() && dim < far.shape().size(); ++dim) {
      const ScanOperands operands =
          CopyOperands(unsolved, [&](const char* name, const HostTensor& tensor, bool) {
            if (std::string_view(name) != far_name) return WithLayout(tensor, Layout::kCompact);
            HostTensor copy = HostTensor::Far(tensor.dtype(), tensor.shape(), dim);
            copy.Assign(tensor);
            return copy;
          });
      ExpectRun(operands, GetParam());
      ExpectSameBits(operands, expected, std::string(far_name) + " far in " + std::to_string(dim));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, FarScanOn, ::testing::ValuesIn(TargetsOfSomeDType("scan_forward")),
                         NameOfTest());

// All operands at once, which is more than a GPU's memory holds.
class AllFarScanOn : public ::testing::TestWithParam<Target> {};

TEST_P(AllFarScanOn, PackedOffsetsBeyond32Bits) {
  ScanCase c = RandomScanCase("far_packed", {1, 6, 2, 3, 1, 2}, 613);
  c.cu_seqlens = {0, 2, 2, 6};
  const ScanOperands unsolved = BuildOperands(c);
  const ScanOperands expected = Solve(c, GetParam());
  const ScanOperands operands =
      CopyOperands(unsolved, [&](const char*, const HostTensor& tensor, bool) {
        if (!tensor.present()) return HostTensor();
        const size_t dim = tensor.shape().size() > 1 ? 1 : 0;
        HostTensor copy = HostTensor::Far(tensor.dtype(), tensor.shape(), dim);
        copy.Assign(tensor);
        return copy;
      });
  ExpectRun(operands, GetParam());
  ExpectSameBits(operands, expected, "all operands far");
}

INSTANTIATE_TEST_SUITE_P(All, AllFarScanOn, ::testing::ValuesIn(HostTargets("scan_forward")),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
