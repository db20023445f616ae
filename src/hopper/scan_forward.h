// The scan on Hopper GPUs (compute capability 9.0), for the shapes of Mamba-2 models: x, B, C and z
// in bf16, headdim a multiple of 16 from 32 on, dstate 64, 128 or 256. Its chunks have 64 tokens.
#ifndef TILESCAN_HOPPER_SCAN_FORWARD_H_
#define TILESCAN_HOPPER_SCAN_FORWARD_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "core/scan_forward.h"
#include "core/status.h"

namespace tilescan::hopper {

// Empty, or why the kernels cannot do a problem. Of the problem only: the caller sees to the GPU.
std::string ReasonAgainstScan(const ScanForwardProblem& problem);

// Of any alignment. For a problem that ReasonAgainstScan() has nothing against.
size_t ScanWorkspaceBytes(const ScanForwardProblem& problem, int num_multiprocessors);

// Loads the kernels and finds what runs of the problem need, on the current GPU, so that the first
// run can be captured.
Status PrepareScan(const ScanForwardProblem& problem);
// The same for every problem.
Status PrepareAllScans();

// Enqueues the scan: two or four kernels, no copies. num_multiprocessors is the current GPU's; it
// decides how the work is cut, and so about the last bits of results. An operand that is not
// aligned as TMA needs it is Unsupported; then nothing has been enqueued.
Status RunScan(const ScanForwardProblem& problem, int num_multiprocessors, void* workspace,
               cudaStream_t stream);

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_FORWARD_H_
