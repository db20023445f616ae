// The middle of a Mamba-2 layer, from its input projection on: zxbcdt is [z, xBC, dt] side by side,
// and convolution, scan and norm take views of it and of each other's results, without a copy. The
// bits are those of the same operations on operands of their own.
#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/test_names.h"
#include "tests/expect_run.h"

namespace tilescan::testing {
namespace {

constexpr int64_t kBatch = 2, kSeqlen = 45, kNheads = 4, kHeaddim = 16, kNgroups = 2, kDstate = 24;
constexpr int64_t kDim = kNheads * kHeaddim;
constexpr int64_t kConvDim = kDim + 2 * kNgroups * kDstate;
constexpr int64_t kProjected = kDim + kConvDim + kNheads;

// A part of the last dimension of a (batch, seqlen, ...) tensor, the part's own last dimensions.
tilescan_tensor PartOf(const HostTensor& whole, int64_t first,
                       std::initializer_list<int64_t> sizes) {
  const std::byte* data = whole.view().AtBytes(first);
  std::vector<int64_t> shape = {kBatch, kSeqlen};
  shape.insert(shape.end(), sizes);
  tilescan_tensor part = tilescan_contiguous(const_cast<std::byte*>(data), ToPublic(whole.dtype()),
                                             static_cast<int32_t>(shape.size()), shape.data());
  part.strides[0] = whole.view().strides[0];
  part.strides[1] = whole.view().strides[1];
  return part;
}

// The same part, copied.
HostTensor CopyOf(const HostTensor& whole, int64_t first, int64_t size,
                  std::vector<int64_t> inner_shape) {
  std::vector<int64_t> shape = {kBatch, kSeqlen};
  shape.insert(shape.end(), inner_shape.begin(), inner_shape.end());
  HostTensor copy(whole.dtype(), shape);
  const int64_t row_size = whole.shape()[2];
  for (int64_t idx = 0; idx < copy.num_elements(); ++idx) {
    copy.SetBits(idx, whole.Bits(idx / size * row_size + first + idx % size));
  }
  return copy;
}

struct Layer {
  HostTensor zxbcdt, conv_weight, conv_bias, A, D, dt_bias, norm_weight;
};

Layer MakeLayer(DType dtype) {
  const auto filled = [](DType of, std::vector<int64_t> shape, const Fill& fill) {
    return Filled(of, std::move(shape), Layout::kCompact, fill);
  };
  constexpr DType kWeights = DType::kFloat32;
  return {filled(dtype, {kBatch, kSeqlen, kProjected}, Uniform(6300, -2.0, 2.0)),
          filled(kWeights, {kConvDim, 4}, Uniform(6301, -1.0, 1.0)),
          filled(kWeights, {kConvDim}, Uniform(6302, -0.5, 0.5)),
          filled(kWeights, {kNheads}, Uniform(6303, -4.0, -0.5)),
          filled(kWeights, {kNheads}, Uniform(6304, -1.0, 1.0)),
          filled(kWeights, {kNheads}, Uniform(6305, -5.0, -2.0)),
          filled(kWeights, {kDim}, Uniform(6306, 0.5, 2.0))};
}

class SplitViewsOn : public ::testing::TestWithParam<Target> {
 protected:
  // On the target's backend and instruction set, on a kernel that takes every problem: whose bits
  // do not depend on how operands lie in memory.
  template <typename Args>
  static void Run(const std::string& operation, const Args& args) {
    for (const Target& target : AvailableTargets(operation)) {
      if (target.backend != GetParam().backend) continue;
      if (target.instruction_set != GetParam().instruction_set) continue;
      const RunResult result = RunArgs(args, target.Options());
      EXPECT_EQ(result.status, TILESCAN_OK) << result.message;
      return;
    }
    ADD_FAILURE() << "no kernel of " << operation << " on " << GetParam().Name();
  }
};

TEST_P(SplitViewsOn, GiveTheBitsOfCopies) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Layer layer = MakeLayer(dtype);
    const HostTensor& zxbcdt = layer.zxbcdt;

    const HostTensor conv_out(dtype, {kBatch, kSeqlen, kConvDim});
    tilescan_causal_conv1d_forward_args conv;
    tilescan_causal_conv1d_forward_args_init(&conv);
    conv.x = PartOf(zxbcdt, kDim, {kConvDim});
    conv.weight = layer.conv_weight.Describe();
    conv.bias = layer.conv_bias.Describe();
    conv.out = conv_out.Describe();
    conv.activation = TILESCAN_ACTIVATION_SILU;
    Run(ConvOperands::kOperation, conv);

    const HostTensor scan_out(dtype, {kBatch, kSeqlen, kNheads, kHeaddim});
    tilescan_scan_forward_args scan;
    tilescan_scan_forward_args_init(&scan);
    scan.x = PartOf(conv_out, 0, {kNheads, kHeaddim});
    scan.dt = PartOf(zxbcdt, kDim + kConvDim, {kNheads});
    scan.A = layer.A.Describe();
    scan.B = PartOf(conv_out, kDim, {kNgroups, kDstate});
    scan.C = PartOf(conv_out, kDim + kNgroups * kDstate, {kNgroups, kDstate});
    scan.D = layer.D.Describe();
    scan.dt_bias = layer.dt_bias.Describe();
    scan.dt_softplus = 1;
    scan.out = scan_out.Describe();
    Run(ScanOperands::kOperation, scan);

    const HostTensor out(dtype, {kBatch, kSeqlen, kDim});
    tilescan_rms_norm_gated_forward_args norm;
    tilescan_rms_norm_gated_forward_args_init(&norm);
    norm.x = PartOf(scan_out, 0, {kDim});
    norm.z = PartOf(zxbcdt, 0, {kDim});
    norm.weight = layer.norm_weight.Describe();
    norm.out = out.Describe();
    norm.group_size = kDim / kNgroups;
    Run(NormOperands::kOperation, norm);

    // Once more with operands of their own, the results in place of those before.
    const HostTensor xBC = CopyOf(zxbcdt, kDim, kConvDim, {kConvDim});
    const HostTensor z = CopyOf(zxbcdt, 0, kDim, {kDim});
    const HostTensor dt = CopyOf(zxbcdt, kDim + kConvDim, kNheads, {kNheads});
    const HostTensor conv_copy(dtype, {kBatch, kSeqlen, kConvDim});
    conv.x = xBC.Describe();
    conv.out = conv_copy.Describe();
    Run(ConvOperands::kOperation, conv);
    EXPECT_TRUE(conv_copy.HasSameBits(conv_out));
    const HostTensor x = CopyOf(conv_copy, 0, kDim, {kNheads, kHeaddim});
    const HostTensor B = CopyOf(conv_copy, kDim, kNgroups * kDstate, {kNgroups, kDstate});
    const HostTensor C =
        CopyOf(conv_copy, kDim + kNgroups * kDstate, kNgroups * kDstate, {kNgroups, kDstate});
    const HostTensor scan_copy(dtype, {kBatch, kSeqlen, kNheads, kHeaddim});
    scan.x = x.Describe();
    scan.dt = dt.Describe();
    scan.B = B.Describe();
    scan.C = C.Describe();
    scan.out = scan_copy.Describe();
    Run(ScanOperands::kOperation, scan);
    EXPECT_TRUE(scan_copy.HasSameBits(scan_out));
    const HostTensor copy(dtype, {kBatch, kSeqlen, kDim});
    norm.x = PartOf(scan_copy, 0, {kDim});
    norm.z = z.Describe();
    norm.out = copy.Describe();
    Run(NormOperands::kOperation, norm);
    EXPECT_TRUE(copy.HasSameBits(out));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitViewsOn,
                         ::testing::ValuesIn(AvailableTargets(NormOperands::kOperation)),
                         NameOfTest());

}  // namespace
}  // namespace tilescan::testing
