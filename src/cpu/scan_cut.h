// How a scan is cut among the threads, and the scratch memory of each cut. The cut never changes a
// bit of the result (kernels/scan_chunk.h), so it may depend on sizes, threads and caches.
#ifndef TILESCAN_CPU_SCAN_CUT_H_
#define TILESCAN_CPU_SCAN_CUT_H_

#include <cstdint>

#include "core/device_facts.h"
#include "core/scan_forward.h"
#include "core/workspace.h"
#include "cpu/kernels/scan_chunk.h"
#include "plan/variant.h"

namespace tilescan::cpu {

struct ScanCut {
  // False: a thread takes some heads of a row and carries their states along the whole row.
  // True: rows and heads are too few for the threads, which share the chunks of each row instead.
  bool by_chunks = false;
  int64_t heads_per_item = 1;    // by heads: the heads of a row that a thread takes at a time
  int64_t chunks_per_block = 1;  // by chunks: the chunks of each head that are shared out at a time
  bool past_caches = false;      // out is written past the caches, which could not hold it
};

ScanCut ChooseCut(const ScanForwardProblem& problem, const ChunkShape& shape, int32_t num_threads,
                  const CpuFacts& facts);

// One thread's buffers; the last two only when cut by heads.
struct ThreadBuffers {
  HeadBuffers head;
  float* D_row = nullptr;          // (padded_headdim)
  float* partial_state = nullptr;  // (padded_headdim, dstate); for states_out inside a chunk
  float* states = nullptr;         // heads_per_item states
  GroupBuffers group;

  static ThreadBuffers Take(Carver& carver, const ChunkShape& shape, const ScanCut& cut);
};

// The buffers that all threads share when cut by chunks.
struct SharedBuffers {
  GroupBuffers* groups = nullptr;  // (ngroups, chunks_per_block)
  float* states = nullptr;         // (nheads): the state that goes into the block
  float* before = nullptr;         // (nheads, chunks_per_block): the state before each chunk
  float* chunk_decay = nullptr;    // (nheads, chunks_per_block)

  static SharedBuffers Take(Carver& carver, const ChunkShape& shape, const ScanCut& cut,
                            const ScanSizes& sizes);
};

// Elements of a state as the kernels keep it.
inline int64_t StateElements(const ChunkShape& shape) {
  return shape.padded_headdim * shape.dstate;
}

// Everything a run needs to know besides its operands' data.
struct ScanSetup {
  const ScanForwardProblem* problem = nullptr;
  const ScanChunkSteps* steps = nullptr;
  ChunkShape shape;
  ScanCut cut;
  Schedule schedule;

  // The workspace of a run: the shared buffers when cut by chunks, then each thread's. The same for
  // every seqlen.
  size_t WorkspaceBytes() const;
  SharedBuffers Shared(void* workspace) const;
  ThreadBuffers Thread(void* workspace, int32_t thread_idx) const;

  // For scan_states.h.
  int64_t NumStateElements() const { return StateElements(shape); }
  void LoadState(const Rows& from, float* scratch, float* state) const {
    steps->load_state(shape, from, scratch, state);
  }
  void StoreState(const float* state, float* scratch, const Rows& to) const {
    steps->store_state(shape, state, scratch, to);
  }
};

// The problem and the steps must outlive the setup.
ScanSetup MakeScanSetup(const ScanForwardProblem& problem, const ScanChunkSteps& steps,
                        const Schedule& schedule);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_CUT_H_
