// D, of any dtype and either shape, as compact fp32 rows (nheads, headdim).
#ifndef TILESCAN_CUDA_SKIP_ROWS_H_
#define TILESCAN_CUDA_SKIP_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/status.h"
#include "core/tensor_view.h"

namespace tilescan::cuda {

// D (nheads) or (nheads, headdim). Zeros where it is absent.
Status WriteSkipRows(const TensorView& D, int64_t nheads, int64_t headdim, float* rows,
                     cudaStream_t stream);

// Loads the kernel, so that a first run can be captured.
Status LoadSkipKernel();

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_SKIP_ROWS_H_
