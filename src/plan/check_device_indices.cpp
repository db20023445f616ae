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

}  // namespace

Status CheckDeviceIndices(const ScanForwardProblem& problem, ReadDevice& read, void* stream) {
  ScanForwardProblem on_host = problem;
  const Source source = {read, stream, "scan_forward: "};
  HostCopy cu_seqlens;
  TILESCAN_RETURN_IF_ERROR(cu_seqlens.Read(source, &on_host.operands.cu_seqlens));
  return CheckIndices(on_host);
}

Status CheckDeviceIndices(const StateUpdateProblem& problem, ReadDevice& read, void* stream) {
  StateUpdateProblem on_host = problem;
  const Source source = {read, stream, "state_update: "};
  HostCopy slots;
  HostCopy num_accepted;
  TILESCAN_RETURN_IF_ERROR(slots.Read(source, &on_host.operands.state_batch_indices));
  TILESCAN_RETURN_IF_ERROR(num_accepted.Read(source, &on_host.operands.num_accepted));
  return CheckIndices(on_host);
}

}  // namespace tilescan::plan
