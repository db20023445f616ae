// What both cuts of the scan do with a chunk of a row.
#ifndef TILESCAN_CPU_SCAN_ROW_H_
#define TILESCAN_CPU_SCAN_ROW_H_

#include <cstdint>

#include "core/sequences.h"
#include "cpu/scan_cut.h"
#include "cpu/scan_states.h"

namespace tilescan::cpu {

// A chunk of a run.
struct Chunk {
  int64_t first_token = 0;  // along seqlen
  int64_t num_tokens = 0;
};

inline int64_t NumChunks(const TokenRun& run, int64_t chunk_size) {
  return (run.num_tokens + chunk_size - 1) / chunk_size;
}
inline Chunk GetChunk(const TokenRun& run, int64_t chunk_size, int64_t chunk_idx) {
  const int64_t offset = chunk_idx * chunk_size;
  const int64_t left = run.num_tokens - offset;
  return {run.first_token + offset, left < chunk_size ? left : chunk_size};
}

// B, C and CB of a chunk.
void PackGroup(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t group_idx,
               float* scratch, const GroupBuffers& group);

// Where load_x finds x of a head and chunk.
NextX XOf(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx);

// A head's x, dt and a of a chunk.
void LoadChunk(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx,
               const HeadParameters& parameters, const HeadBuffers& head);

// out of a chunk, from what LoadChunk loaded, and the states that states_out wants from inside it.
// Leaves x_weighted ready to pass the state on. Asks for next_x meanwhile.
void ComputeChunk(const ScanSetup& setup, const ScanRow& row, const Chunk& chunk, int64_t head_idx,
                  const HeadParameters& parameters, const GroupBuffers& group,
                  const ThreadBuffers& thread, const float* state, const NextX& next_x);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_ROW_H_
