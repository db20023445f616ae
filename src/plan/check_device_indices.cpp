#include "plan/check_device_indices.h"

#include <cstdint>
#include <vector>

#include "core/check_indices.h"

namespace tilescan::plan {
namespace {

// Where index operands are read from.
struct Source {
  ReadDevice& read;
  void* stream;
  const char* prefix;  // of messages
};

// The memory of a view of one dimension, copied to the host.
class HostCopy {
 public:
  // Makes the view one of the copy.
  Status Read(const Source& source, TensorView* view) {
    if (!view->present() || view->num_elements() == 0) return Status();
    const int64_t element_bytes = ElementBytes(view->dtype);
    const int64_t num_elements = view->num_elements();
    memory_.resize(static_cast<size_t>(num_elements * element_bytes));
    if (view->strides[0] == 1) {
      TILESCAN_RETURN_IF_ERROR(ReadBytes(source, view->data, 0, memory_.size()));
    } else {
      const auto size = static_cast<size_t>(element_bytes);
      for (int64_t idx = 0; idx < num_elements; ++idx) {
        TILESCAN_RETURN_IF_ERROR(ReadBytes(source, view->AtBytes(idx * view->strides[0]),
                                           static_cast<size_t>(idx) * size, size));
      }
    }
    view->data = memory_.data();
    view->strides[0] = 1;
    return Status();
  }

 private:
  Status ReadBytes(const Source& source, const void* from, size_t to, size_t num_bytes) {
    return source.read(memory_.data() + to, from, num_bytes, source.stream)
        .WithPrefix(source.prefix);
  }

  std::vector<std::byte> memory_;
};

// Checks a problem with the index operands given on the host.
template <typename Problem, typename... Views>
Status CheckOnHost(Problem problem, const Source& source, Views... views) {
  HostCopy copies[sizeof...(views)];
  Status status;
  size_t next = 0;
  static_cast<void>(
      ((status = copies[next++].Read(source, &(problem.operands.*views))).ok() && ...));
  return status.ok() ? CheckIndices(problem) : status;
}

}  // namespace

Status CheckDeviceIndices(const ScanForwardProblem& problem, ReadDevice& read, void* stream) {
  return CheckOnHost(problem, {read, stream, "scan_forward: "}, &ScanForwardOperands::cu_seqlens);
}

Status CheckDeviceIndices(const StateUpdateProblem& problem, ReadDevice& read, void* stream) {
  return CheckOnHost(problem, {read, stream, "state_update: "},
                     &StateUpdateOperands::state_batch_indices, &StateUpdateOperands::num_accepted);
}

Status CheckDeviceIndices(const CausalConv1dForwardProblem& problem, ReadDevice& read,
                          void* stream) {
  return CheckOnHost(problem, {read, stream, "causal_conv1d_forward: "},
                     &CausalConv1dForwardOperands::cu_seqlens);
}

Status CheckDeviceIndices(const SplitConv1dScanForwardProblem& problem, ReadDevice& read,
                          void* stream) {
  return CheckOnHost(problem, {read, stream, "split_conv1d_scan_forward: "},
                     &SplitConv1dScanForwardOperands::cu_seqlens);
}

Status CheckDeviceIndices(const CausalConv1dUpdateProblem& problem, ReadDevice& read,
                          void* stream) {
  return CheckOnHost(problem, {read, stream, "causal_conv1d_update: "},
                     &CausalConv1dUpdateOperands::conv_state_indices,
                     &CausalConv1dUpdateOperands::cache_seqlens);
}

}  // namespace tilescan::plan
