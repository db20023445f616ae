// The forms of the scan's forward in CUDA Tile C++, for the planner's rows.
//
//   General     any dtype but float64, stride, alignment and size; seq_idx and cu_seqlens. Three
//               stages, each parallel over heads, the first and the last over chunks as well.
//   Bf16Stages  the same stages for bf16 operands in whole vectors, one sequence a batch row.
//   Stream      those operands with dstate up to 128 and no states_out, in one walk along each row:
//               faster where batch * nheads fills the machine, and without the states of all chunks
//               in memory.
//
// ReasonAgainst...(): empty if nothing stands against it, else to be read after "cannot: ".
//
// ChooseChunkSize...(): the chunk size used when `requested` was asked for (0: left open). The bf16
// forms have chunks of 64 tokens whatever is asked for. The general form has at most 64; with
// states_out they are shortened so that they end where states are asked for.
//
// Prepare...() loads the kernels that runs of the problem need, on the current GPU, so that the
// first run can be captured in a graph; PrepareAll...() those of every problem.
//
// Run...() enqueues on launch.stream, allocates nothing and does not synchronise. Values of
// cu_seqlens and seq_idx are read on the device and not checked: whatever they are, only the
// tensors' memory is touched.
#ifndef TILESCAN_TILE_SCAN_FORWARD_H_
#define TILESCAN_TILE_SCAN_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/scan_forward.h"
#include "core/status.h"
#include "plan/variant.h"

namespace tilescan::tile {

std::string ReasonAgainstGeneral(const ScanForwardProblem& problem);
int64_t ChooseChunkSizeGeneral(const ScanForwardProblem& problem, int64_t requested);
size_t WorkspaceBytesGeneral(const ScanForwardProblem& problem, int64_t chunk_size);
Status PrepareGeneral(const ScanForwardProblem& problem);
Status PrepareAllGeneral();
Status RunGeneral(const ScanForwardProblem& problem, const Launch& launch);

std::string ReasonAgainstBf16Stages(const ScanForwardProblem& problem);
int64_t ChooseChunkSizeBf16Stages(const ScanForwardProblem& problem, int64_t requested);
size_t WorkspaceBytesBf16Stages(const ScanForwardProblem& problem, int64_t chunk_size);
Status PrepareBf16Stages(const ScanForwardProblem& problem);
Status PrepareAllBf16Stages();
Status RunBf16Stages(const ScanForwardProblem& problem, const Launch& launch);

std::string ReasonAgainstStream(const ScanForwardProblem& problem);
int64_t ChooseChunkSizeStream(const ScanForwardProblem& problem, int64_t requested);
size_t WorkspaceBytesStream(const ScanForwardProblem& problem, int64_t chunk_size);
Status PrepareStream(const ScanForwardProblem& problem);
Status PrepareAllStreams();
Status RunStream(const ScanForwardProblem& problem, const Launch& launch);

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_FORWARD_H_
