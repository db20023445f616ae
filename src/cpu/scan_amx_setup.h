// What a scan on a matrix unit needs to know besides its operands' data, and its scratch memory.
#ifndef TILESCAN_CPU_SCAN_AMX_SETUP_H_
#define TILESCAN_CPU_SCAN_AMX_SETUP_H_

#include <cstddef>
#include <cstdint>

#include "core/scan_forward.h"
#include "core/workspace.h"
#include "cpu/kernels/scan_amx.h"
#include "plan/variant.h"

namespace tilescan::cpu {

// What the threads that share a row need besides their own buffers.
struct RowBuffers {
  AmxGroupBuffers* groups = nullptr;  // (ngroups, chunks_per_block)
  float* states = nullptr;            // (nheads)

  static RowBuffers Take(Carver& carver, const AmxShape& shape, const ScanSizes& sizes);
};

struct AmxSetup {
  const ScanForwardProblem* problem = nullptr;
  const ScanAmxSteps* steps = nullptr;
  AmxShape shape;
  Schedule schedule;
  bool by_rows = false;  // each thread takes rows by itself
  bool past_caches = false;

  // For scan_states.h.
  int64_t NumStateElements() const { return shape.state_elements(); }
  void LoadState(const Rows& from, float* scratch, float* state) const {
    steps->load_state(shape, from, scratch, state);
  }
  void StoreState(const float* state, float* scratch, const Rows& to) const {
    steps->store_state(shape, state, scratch, to);
  }

  size_t WorkspaceBytes() const;
  RowBuffers Row(void* workspace, int32_t row_buffers_idx) const;
  AmxThreadBuffers Thread(void* workspace, int32_t thread_idx) const;

 private:
  int64_t RowBytes() const;
  int64_t ThreadBytes() const;
  int64_t NumRowBuffers() const { return by_rows ? schedule.num_threads : 1; }
};

// The problem and the steps must outlive the setup.
AmxSetup MakeAmxSetup(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                      const Schedule& schedule);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_AMX_SETUP_H_
