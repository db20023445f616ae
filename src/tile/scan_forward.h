// The scan's forward in CUDA Tile C++, for every problem: any dtype but float64, stride, alignment
// and size, with seq_idx and cu_seqlens. Three stages, each parallel over heads, the first and the
// last over chunks as well.
#ifndef TILESCAN_TILE_SCAN_FORWARD_H_
#define TILESCAN_TILE_SCAN_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/scan_forward.h"
#include "core/status.h"
#include "plan/variant.h"

namespace tilescan::tile {

// Empty if nothing stands against it, else to be read after "cannot: ".
std::string ReasonAgainstScan(const ScanForwardProblem& problem);

// The chunk size used when `requested` was asked for (0: left open): at most 64. With states_out,
// chunks are shortened so that they end where states are asked for.
int64_t ChooseChunkSize(const ScanForwardProblem& problem, int64_t requested);

// Holds the state before each chunk, in fp32.
size_t ScanWorkspaceBytes(const ScanForwardProblem& problem, int64_t chunk_size);

// Loads the kernels that runs of the problem need, on the current GPU, so that the first run can be
// captured in a graph.
Status PrepareScan(const ScanForwardProblem& problem);
// The same for every problem.
Status PrepareAllScans();

// Enqueues on launch.stream, allocates nothing and does not synchronise. Values of cu_seqlens and
// seq_idx are read on the device and not checked: whatever they are, only the tensors' memory is
// touched.
Status RunScan(const ScanForwardProblem& problem, const Launch& launch);

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_FORWARD_H_
