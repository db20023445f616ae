// The operands of a call, brought to a GPU and back.
#ifndef TILESCAN_TESTING_DEVICE_COPY_H_
#define TILESCAN_TESTING_DEVICE_COPY_H_

#include <cstddef>
#include <vector>

#include "testing/device_memory.h"
#include "tilescan/tilescan.h"

namespace tilescan::testing {

// Every operand of the args, present or not, in the order of the struct.
std::vector<tilescan_tensor*> TensorsOf(tilescan_scan_forward_args* args);
std::vector<tilescan_tensor*> TensorsOf(tilescan_state_update_args* args);
std::vector<tilescan_tensor*> TensorsOf(tilescan_causal_conv1d_forward_args* args);
std::vector<tilescan_tensor*> TensorsOf(tilescan_causal_conv1d_update_args* args);
std::vector<tilescan_tensor*> TensorsOf(tilescan_rms_norm_gated_forward_args* args);
std::vector<tilescan_tensor*> TensorsOf(tilescan_split_conv1d_scan_forward_args* args);

// Copies of the memory that tensors span, as aligned as the original (to 256 bytes), what lies
// between their elements too; tensors that share memory share it there. Around each is poison.
class DeviceCopy {
 public:
  // Uploads, and makes each tensor's data point to the copy. Throws a DeviceError.
  explicit DeviceCopy(const std::vector<tilescan_tensor*>& tensors);

  // Waits for the GPU, and brings back the tensors' elements (of host, which are as they were given
  // to the constructor, before it changed them).
  void Download(const std::vector<tilescan_tensor>& host) const;

  // Whether nothing was written around the copies.
  bool SurroundingsIntact() const;

 private:
  // Memory that one or more tensors span.
  struct Region {
    std::byte* host_begin;
    std::byte* host_end;
    DeviceMemory memory;
    std::byte* begin = nullptr;  // in memory, where host_begin is
    size_t memory_bytes = 0;

    size_t num_bytes() const { return static_cast<size_t>(host_end - host_begin); }
  };
  const Region* RegionOf(const tilescan_tensor& host) const;

  std::vector<Region> regions_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_DEVICE_COPY_H_
