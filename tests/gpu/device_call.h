// A call whose operands stay on the GPU, for tests that run it in their own way.
#ifndef TILESCAN_TESTS_GPU_DEVICE_CALL_H_
#define TILESCAN_TESTS_GPU_DEVICE_CALL_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "testing/device_copy.h"
#include "testing/device_memory.h"
#include "testing/operands.h"
#include "tilescan/tilescan.hpp"

namespace tilescan::testing {

inline tilescan_status RunOn(const Plan& plan, const tilescan_scan_forward_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_scan_forward(plan.get(), &args, workspace, workspace_bytes, stream);
}
inline tilescan_status RunOn(const Plan& plan, const tilescan_state_update_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_state_update(plan.get(), &args, workspace, workspace_bytes, stream);
}

inline tilescan_status RunOn(const Plan& plan, const tilescan_causal_conv1d_forward_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_causal_conv1d_forward(plan.get(), &args, workspace, workspace_bytes, stream);
}
inline tilescan_status RunOn(const Plan& plan, const tilescan_causal_conv1d_update_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_causal_conv1d_update(plan.get(), &args, workspace, workspace_bytes, stream);
}
inline tilescan_status RunOn(const Plan& plan, const tilescan_rms_norm_gated_forward_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_rms_norm_gated_forward(plan.get(), &args, workspace, workspace_bytes, stream);
}
inline tilescan_status RunOn(const Plan& plan, const tilescan_split_conv1d_scan_forward_args& args,
                             std::byte* workspace, size_t workspace_bytes, void* stream) {
  return tilescan_run_split_conv1d_scan_forward(plan.get(), &args, workspace, workspace_bytes,
                                                stream);
}

template <typename Operands>
class DeviceCall {
 public:
  using Args = typename Operands::Args;

  // operands: compact; they must outlive the call.
  explicit DeviceCall(const Operands& operands)
      : host_args_(MakeArgs(operands)), args_(host_args_), copy_(TensorsOf(&args_)) {}

  const Args& args() const { return args_; }

  // A status and not an exception, so that it can be expected.
  tilescan_status Run(const Plan& plan, void* stream) {
    const size_t num_bytes = plan.workspace_bytes();
    return RunOn(plan, args_, workspace_.get(), num_bytes, stream);
  }
  // Before Run(); what it holds is poison.
  void AllocateWorkspace(size_t num_bytes) {
    workspace_ = AllocateOnDevice(std::max<size_t>(num_bytes, 1), std::byte{0xff});
  }

  // Puts other operands, outputs too, in the place of those there.
  void Upload(const Operands& operands) {
    Args from = MakeArgs(operands);
    const std::vector<tilescan_tensor*> sources = TensorsOf(&from);
    const std::vector<tilescan_tensor*> targets = TensorsOf(&args_);
    for (size_t idx = 0; idx < sources.size(); ++idx) {
      size_t num_bytes = sources[idx]->dtype.bits / 8;
      for (int dim = 0; dim < sources[idx]->ndim; ++dim) {
        num_bytes *= static_cast<size_t>(sources[idx]->shape[dim]);
      }
      if (num_bytes == 0) continue;
      CopyToDevice(static_cast<std::byte*>(targets[idx]->data), sources[idx]->data, num_bytes);
    }
  }

  // Waits, and brings everything back to the operands it was made of.
  void Download() {
    std::vector<tilescan_tensor> host;
    for (const tilescan_tensor* tensor : TensorsOf(&host_args_)) host.push_back(*tensor);
    copy_.Download(host);
  }
  bool SurroundingsIntact() const { return copy_.SurroundingsIntact(); }

 private:
  Args host_args_;
  Args args_;
  DeviceCopy copy_;
  DeviceMemory workspace_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTS_GPU_DEVICE_CALL_H_
