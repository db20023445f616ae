// How the scan's rows are cut into chunks on a GPU, and what the kernels must know of a chunk. The
// meaning of rows and runs is that of core/sequences.h; cu_seqlens and seq_idx are read on the
// device only.
//
// A slot is a place for one chunk. Slots are numbered so that their number follows from the sizes
// alone, whatever cu_seqlens holds; packed rows leave some without a chunk.
#ifndef TILESCAN_CUDA_SCAN_CHUNKS_H_
#define TILESCAN_CUDA_SCAN_CHUNKS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "core/workspace.h"

namespace tilescan::cuda {

// A row is cut into spans of states_every tokens (without states_out: one endless span), and each
// span into chunks_per_span chunks of chunk_size tokens, the last one shorter. So states_out are
// states at the ends of chunks.
struct ChunkGrid {
  int64_t chunk_size = 1;
  int64_t span = 1;
  int64_t chunks_per_span = 1;

  // Chunks of a row of num_tokens tokens.
  TILESCAN_HOST_DEVICE int64_t CountChunks(int64_t num_tokens) const {
    return num_tokens / span * chunks_per_span + (num_tokens % span + chunk_size - 1) / chunk_size;
  }

  // Packed sequence s has the slots from SlotsBefore(cu_seqlens[s]) + s on. They do not reach into
  // those of sequence s + 1: SlotsBefore(begin) + CountChunks(end - begin) <= SlotsBefore(end) + 1.
  TILESCAN_HOST_DEVICE int64_t SlotsBefore(int64_t num_tokens) const {
    return num_tokens / span * chunks_per_span + num_tokens % span / chunk_size;
  }
};

// Chunks of at most max_chunk_size (>= 1) tokens.
ChunkGrid MakeChunkGrid(const ScanForwardProblem& problem, int64_t max_chunk_size);

int64_t NumSlots(const ScanForwardProblem& problem, const ChunkGrid& grid);

// Device arrays that say what each slot and each row holds.
struct ChunkTable {
  // Of each slot.
  int64_t* first_token = nullptr;    // along seqlen
  int64_t* row_idx = nullptr;        // which row it is a chunk of
  int64_t* batch_idx = nullptr;      // row of x, dt, B, C, z, out and states_out
  int64_t* state_out_idx = nullptr;  // where along states_out the state after it goes; -1: nowhere
  int32_t* num_tokens = nullptr;     // 0: the slot holds no chunk
  int32_t* run_before = nullptr;     // the run that the state before the chunk belongs to, ...
  int32_t* run_after = nullptr;      // ... and the one after it; both 0 without seq_idx
  // Of each row, that is of each state_idx.
  int64_t* first_slot = nullptr;
  int64_t* num_chunks = nullptr;
};

ChunkTable CarveChunkTable(const ScanForwardProblem& problem, const ChunkGrid& grid,
                           Carver& carver);

// Fills the table. Values of cu_seqlens that are no cumulative lengths give some table whose chunks
// lie inside the tensors.
Status WriteChunkTable(const ScanForwardProblem& problem, const ChunkGrid& grid,
                       const ChunkTable& table, cudaStream_t stream);

// The runs of a problem with seq_idx. A run's number says how many sequences have begun along its
// row, from a zero state, up to and including it. A token's code is the number of its run; for
// padding ~run, which is negative, of the run that passes it.
struct RunCodes {
  int32_t* of_tokens = nullptr;  // (batch, seqlen)
  // (num_slots, tile_size): those of each chunk's tokens; behind its last one, up to tile_size,
  // ~run of the last.
  int32_t* of_slots = nullptr;
};

// Null without seq_idx.
RunCodes CarveRunCodes(const ScanForwardProblem& problem, int64_t num_slots, int64_t tile_size,
                       Carver& carver);

// Fills the codes, and run_before and run_after of the table, which is otherwise written. tile_size
// is at least the grid's chunk_size, at most 1024. Nothing without seq_idx.
Status WriteRunCodes(const ScanForwardProblem& problem, int64_t num_slots, int64_t tile_size,
                     const ChunkTable& table, const RunCodes& codes, cudaStream_t stream);

// Loads the kernels of the functions above, so that a first run can be captured.
Status LoadChunkKernels();

}  // namespace tilescan::cuda

#endif  // TILESCAN_CUDA_SCAN_CHUNKS_H_
