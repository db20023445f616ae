// The kernels of the streaming scan, as the host starts them. Each size of them is compiled by
// itself (scan_kernels.cu.in).
#ifndef TILESCAN_HOPPER_SCAN_KERNELS_H_
#define TILESCAN_HOPPER_SCAN_KERNELS_H_

#include <cuda_runtime_api.h>

#include "core/status.h"
#include "hopper/scan_params.h"

namespace tilescan::hopper {

template <int kDstate, int kRowHeads>
struct ScanKernels {
  // Loads them on the current GPU.
  static Status Prepare(bool has_z);
  // The states between pieces, where the plan asks for them, then out and the final states.
  static Status Enqueue(const ScanParams& params, bool has_z, cudaStream_t stream);
};

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_KERNELS_H_
