// What a causal convolution's window holds before a token: where the width - 1 values before it
// come from. As the scan's state, that history passes padding unchanged and is zero where a
// sequence starts from zero (core/sequences.h). Walks back from the token, so that work may begin
// at any token of a row.
#ifndef TILESCAN_CORE_CONV_HISTORY_H_
#define TILESCAN_CORE_CONV_HISTORY_H_

#include <cstdint>

#include "core/causal_conv1d.h"
#include "core/host_device.h"

namespace tilescan {

// A row of tokens that one history is carried along: a batch row, or a packed sequence.
struct ConvRow {
  int64_t batch_idx = 0;    // row of x, out and seq_idx; 0 when packed
  int64_t state_idx = 0;    // row of initial_states and final_states
  int64_t first_token = 0;  // along seqlen
  int64_t end_token = 0;
};

// Of one value of a window: a token along seqlen, a column of initial_states, or zero.
struct ConvSource {
  enum class Kind : int8_t { kZero, kToken, kInitialState };
  Kind kind = Kind::kZero;
  int64_t idx = 0;
};

struct ConvHistory {
  ConvSource sources[kMostConvHistory];  // the first width - 1 hold, the oldest first
  int32_t last_id = -1;                  // of the sequence last seen; negative: none yet
};

TILESCAN_HOST_DEVICE inline int32_t SeqIdAt(const CausalConv1dForwardProblem& problem,
                                            const ConvRow& row, int64_t token) {
  const TensorView& seq_idx = problem.operands.seq_idx;
  if (!seq_idx.present()) return 0;
  return *seq_idx.At<const int32_t>(row.batch_idx * seq_idx.strides[0] +
                                    token * seq_idx.strides[1]);
}

// The history before a token of [row.first_token, row.end_token]: at end_token it is what
// final_states hold.
TILESCAN_HOST_DEVICE inline ConvHistory HistoryBefore(const CausalConv1dForwardProblem& problem,
                                                      const ConvRow& row, int64_t token) {
  ConvHistory history;
  int missing = static_cast<int>(problem.sizes.width) - 1;
  for (int64_t before = token - 1; before >= row.first_token && missing > 0; --before) {
    const int32_t id = SeqIdAt(problem, row, before);
    if (id < 0) continue;
    // Another sequence, so this one began from zero: the sources left are zeros.
    if (history.last_id >= 0 && id != history.last_id) return history;
    history.last_id = id;
    --missing;
    history.sources[missing] = {ConvSource::Kind::kToken, before};
  }
  if (!problem.operands.initial_states.present()) return history;
  // The row's first sequence: its newest initial values, as far as the window reaches back.
  const int64_t newest = problem.sizes.width - 2;
  for (int64_t age = 0; missing > 0; ++age) {
    --missing;
    history.sources[missing] = {ConvSource::Kind::kInitialState, newest - age};
  }
  return history;
}

// Whether the token of this id begins a sequence from zero, which the history before it does not
// belong to.
TILESCAN_HOST_DEVICE inline bool StartsFromZero(const ConvHistory& history, int32_t id) {
  return history.last_id >= 0 && id >= 0 && id != history.last_id;
}

}  // namespace tilescan

#endif  // TILESCAN_CORE_CONV_HISTORY_H_
