// The stages of the scan's forward as its forms call them: what they pass to each other, and the
// functions that launch them. Each enqueues one kernel, or none where there is nothing to do, and
// returns its Status.
#ifndef TILESCAN_TILE_SCAN_STAGES_H_
#define TILESCAN_TILE_SCAN_STAGES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"
#include "cuda/error.h"
#include "cuda/scan_chunks.h"
#include "tile/chunk_size.h"
#include "tile/row_pieces.h"

namespace tilescan::tile {

// Device memory that the stages share; null: not used by this form.
struct StageBuffers {
  cuda::ChunkTable chunks;  // null: each batch row is cut at multiples of kChunkTile
  cuda::RunCodes runs;      // with seq_idx
  // What chunk_cumsum makes: (num_slots, nheads, kTokenRows, kChunkTile) and (num_slots, nheads).
  float* token_rows = nullptr;
  float* chunk_decay = nullptr;
  // The state before each chunk, (num_slots, nheads, headdim, dstate): fp32 for the general stages,
  // with initial_states already in the slots that begin a row; bf16 for the bf16 stages.
  void* entry_states = nullptr;
  // Compact fp32 states (num_seqs, nheads, headdim, dstate) after each row.
  float* last_states = nullptr;
  // ---- of the bf16 forms alone ----
  // Compact fp32 states before each row; (batch, seqlen / states_every, nheads, headdim, dstate).
  const float* first_states = nullptr;
  float* states_out = nullptr;
  float* skip_rows = nullptr;  // D as cuda/skip_rows.h
  // tril(C B^T), (num_slots, ngroups, kChunkTile, kChunkTile) bf16.
  void* CB = nullptr;
  // (batch, nheads, tiles of headdim): whether a walk must be repaired (scan_stream.cu).
  int32_t* must_repair = nullptr;
  // How rows are cut. Where they are: the state before each piece, compact fp32 (batch, num_pieces,
  // nheads, headdim, dstate), which before the join holds the pieces' own states, each in the place
  // of the next piece's; and the pieces' decays as exponents of 2, (batch, num_pieces, nheads).
  RowPieces pieces;
  float* piece_states = nullptr;
  float* piece_exponents = nullptr;
};

struct StageCall {
  const ScanForwardProblem& problem;
  int64_t num_slots = 0;
  StageBuffers buffers = {};
  cudaStream_t stream = nullptr;
  bool only_loads = false;  // the kernel is loaded, so that its first run can be captured
};

Status LaunchChunkCumsum(const StageCall& call);

// Any dtype, stride, alignment and size; seq_idx and cu_seqlens.
Status LaunchPassStateGeneral(const StageCall& call);
Status LaunchComputeOutGeneral(const StageCall& call);

// What the rows stages_tiles and stream_tiles allow. Either form ends with the repair. The first
// two do nothing where rows are whole.
Status LaunchPassPieces(const StageCall& call);
Status LaunchJoinPieces(const StageCall& call);
Status LaunchMultiplyCB(const StageCall& call);
Status LaunchPassStateBf16(const StageCall& call);
Status LaunchComputeOutBf16(const StageCall& call);
Status LaunchScanStream(const StageCall& call);
Status LaunchRepair(const StageCall& call);

// ---- for the launchers ----

constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The forms refuse problems of more programs than a grid has room for.
inline unsigned GridOf(int64_t num_programs) { return static_cast<unsigned>(num_programs); }

inline int32_t DTypeCode(const TensorView& view) { return static_cast<int32_t>(view.dtype); }

}  // namespace tilescan::tile

#endif  // TILESCAN_TILE_SCAN_STAGES_H_
