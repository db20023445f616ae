// Problems of every kind that the GPU's kernels tell apart.
#ifndef TILESCAN_TESTS_GPU_DEVICE_CASES_H_
#define TILESCAN_TESTS_GPU_DEVICE_CASES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "testing/case_list.h"
#include "testing/target.h"

namespace tilescan::testing {

inline std::vector<Target> DeviceTargets(const std::string& operation) {
  std::vector<Target> targets = AllTargets(operation);
  std::erase_if(targets, [](const Target& target) { return !target.IsOnDevice(); });
  return targets;
}

inline std::vector<ScanCase> DeviceScanCases(uint64_t seed) {
  std::vector<ScanCase> cases;
  const auto add = [&](const char* name, const CaseSizes& sizes, DType dtype) {
    cases.push_back(RandomScanCase(name, sizes, seed));
    cases.back().x_dtype = dtype;
    return &cases.back();
  };
  add("plain", {2, 300, 4, 64, 2, 128}, DType::kBFloat16);
  AddOptionalOperands(add("gated", {2, 300, 4, 64, 2, 128}, DType::kBFloat16), seed);
  // Other instances of the kernels.
  AddOptionalOperands(add("small", {2, 100, 4, 32, 2, 64}, DType::kBFloat16), seed);
  add("two_heads", {2, 100, 6, 80, 2, 128}, DType::kBFloat16);
  AddOptionalOperands(add("wide", {1, 100, 4, 64, 2, 256}, DType::kBFloat16), seed);
  add("wide_plain", {1, 100, 4, 80, 2, 256}, DType::kBFloat16);
  // One row cut into pieces; more rows than multiprocessors, the last of them cut in halves.
  add("pieces", {1, 20000, 2, 64, 1, 128}, DType::kBFloat16);
  add("halves", {1, 256, 280, 64, 1, 128}, DType::kBFloat16);
  AddOptionalOperands(add("float32", {2, 100, 4, 24, 2, 40}, DType::kFloat32), seed);
  ScanCase* packed = add("packed", {1, 200, 2, 16, 1, 16}, DType::kFloat32);
  packed->cu_seqlens = {0, 70, 70, 71, 200};
  packed->states_every = 32;
  ScanCase* runs = add("runs", {1, 200, 2, 16, 1, 16}, DType::kFloat16);
  runs->seq_idx.assign(200, 0);
  std::fill(runs->seq_idx.begin() + 90, runs->seq_idx.end(), 7);
  return cases;
}

inline std::vector<StateUpdateCase> DeviceStateUpdateCases(uint64_t seed) {
  std::vector<StateUpdateCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const CaseSizes& sizes : std::vector<CaseSizes>{{3, 0, 4, 64, 2, 128},
                                                         {64, 0, 64, 64, 8, 128},
                                                         {3, 4, 4, 64, 2, 128},
                                                         {3, 2, 4, 20, 2, 30}}) {
      cases.push_back(
          RandomStateUpdateCase(SizesName(sizes) + "_" + DTypeName(dtype), sizes, seed));
      AddOptionalOperands(&cases.back(), seed);
      cases.back().state_dtype = dtype;
    }
  }
  return cases;
}

// Each kernel of the convolution: vectors of channels or of tokens are the layout's, which is
// compact here; sequences, elements.
inline std::vector<ConvCase> DeviceConvCases(uint64_t seed) {
  std::vector<ConvCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const auto add = [&](const char* name, int64_t batch, int64_t seqlen, int64_t dim) {
      cases.push_back(
          RandomConvCase(std::string(name) + "_" + DTypeName(dtype), batch, seqlen, dim, seed));
      AddOptionalOperands(&cases.back(), seed);
      cases.back().x_dtype = cases.back().initial_states_dtype = dtype;
      return &cases.back();
    };
    add("channels", 2, 300, 256);
    add("odd_channels", 2, 300, 99);
    // One channel: tokens lie side by side.
    add("tokens", 2, 2048, 1);
    add("odd_tokens", 2, 333, 1);
    ConvCase* packed = add("packed", 1, 200, 64);
    packed->cu_seqlens = {0, 70, 70, 71, 200};
    ConvCase* runs = add("runs", 1, 200, 64);
    runs->seq_idx.assign(200, 0);
    std::fill(runs->seq_idx.begin() + 50, runs->seq_idx.begin() + 60, -1);
    std::fill(runs->seq_idx.begin() + 90, runs->seq_idx.end(), 7);
  }
  return cases;
}

inline std::vector<ConvUpdateCase> DeviceConvUpdateCases(uint64_t seed) {
  std::vector<ConvUpdateCase> cases;
  for (const int64_t num_tokens : {0, 3}) {
    for (const bool is_circular : {false, true}) {
      ConvUpdateCase c =
          RandomConvUpdateCase("steps_" + std::to_string(num_tokens), 3, num_tokens, 300, seed);
      AddOptionalOperands(&c, seed);
      c.state_len = 4;
      c.conv_state_dtype = c.x_dtype = c.out_dtype = DType::kBFloat16;
      if (is_circular) c.cache_seqlens = {0, 7, 1000};
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

// Each number of passes, with vectors and by elements, and groups beyond registers.
inline std::vector<NormCase> DeviceNormCases(uint64_t seed) {
  std::vector<NormCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    for (const int64_t dim : {64, 1024, 3072, 5120, 40000, 63, 1021, 3071, 5119}) {
      NormCase c =
          RandomNormCase("norm_" + std::to_string(dim) + "_" + DTypeName(dtype), 2, 5, dim, seed);
      AddOptionalOperands(&c, seed);
      c.x_dtype = c.z_dtype = c.out_dtype = dtype;
      c.norm_before_gate = dim % 2 == 1;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

// Those of the scan whose parts its kernels tell apart, with a norm and without.
inline std::vector<SplitCase> DeviceSplitCases(uint64_t seed) {
  std::vector<SplitCase> cases;
  const auto add = [&](const char* name, const CaseSizes& sizes, DType dtype) {
    cases.push_back(RandomSplitCase(name, sizes, seed));
    AddOptionalOperands(&cases.back(), seed);
    cases.back().zxbcdt_dtype = dtype;
    return &cases.back();
  };
  add("normed", {2, 300, 4, 64, 2, 128}, DType::kBFloat16);
  add("gated", {2, 300, 4, 64, 2, 128}, DType::kBFloat16)->rmsnorm_weight = {};
  add("two_heads", {2, 100, 6, 80, 2, 128}, DType::kBFloat16);
  add("float16", {2, 100, 4, 32, 2, 64}, DType::kFloat16);
  add("float32", {2, 100, 4, 24, 2, 40}, DType::kFloat32);
  add("odd", {2, 33, 3, 5, 1, 7}, DType::kBFloat16);
  SplitCase* packed = add("packed", {1, 200, 2, 16, 1, 16}, DType::kFloat32);
  packed->cu_seqlens = {0, 70, 70, 71, 200};
  SplitCase* runs = add("runs", {1, 200, 4, 64, 1, 128}, DType::kBFloat16);
  runs->seq_idx.assign(200, 0);
  std::fill(runs->seq_idx.begin() + 50, runs->seq_idx.begin() + 60, -1);
  std::fill(runs->seq_idx.begin() + 90, runs->seq_idx.end(), 7);
  return cases;
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTS_GPU_DEVICE_CASES_H_
