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
  ConvSource sources[kMostConvHistory];  // the last width - 1 hold, the oldest first
  int32_t last_id = -1;                  // of the sequence last seen; negative: none yet

  // idx in [0, width - 1), the oldest first.
  TILESCAN_HOST_DEVICE const ConvSource& Of(int64_t width, int64_t idx) const {
    return sources[kMostConvWidth - width + idx];
  }
};

TILESCAN_HOST_DEVICE inline int32_t SeqIdAt(const CausalConv1dForwardProblem& problem,
                                            const ConvRow& row, int64_t token) {
  const TensorView& seq_idx = problem.operands.seq_idx;
  if (!seq_idx.present()) return 0;
  return *seq_idx.At<const int32_t>(row.batch_idx * seq_idx.strides[0] +
                                    token * seq_idx.strides[1]);
}

// The last token up to this one that is no padding; before first_token if there is none. Padding
// may be long, so several ids are asked for at once.
TILESCAN_HOST_DEVICE inline int64_t PassPaddingBack(const CausalConv1dForwardProblem& problem,
                                                    const ConvRow& row, int64_t token) {
  constexpr int kAtOnce = 16;
  while (token - row.first_token >= kAtOnce) {
    int32_t all_ids = -1;  // negative as long as all are
    for (int back = 0; back < kAtOnce; ++back) all_ids &= SeqIdAt(problem, row, token - back);
    if (all_ids >= 0) break;
    token -= kAtOnce;
  }
  while (token >= row.first_token && SeqIdAt(problem, row, token) < 0) --token;
  return token;
}

// The history before a token of [row.first_token, row.end_token]: at end_token it is what
// final_states hold.
TILESCAN_HOST_DEVICE inline ConvHistory HistoryBefore(const CausalConv1dForwardProblem& problem,
                                                      const ConvRow& row, int64_t token) {
  ConvHistory history;
  const int unused = kMostConvWidth - static_cast<int>(problem.sizes.width);
  int64_t before = token - 1;
  int64_t state_column = problem.sizes.width - 2;
  for (int idx = kMostConvHistory - 1; idx >= 0; --idx) {
    if (idx < unused) break;
    before = PassPaddingBack(problem, row, before);
    if (before < row.first_token) {
      // The row's first sequence: its newest initial values, as far as the window reaches back.
      if (!problem.operands.initial_states.present()) break;
      history.sources[idx] = {ConvSource::Kind::kInitialState, state_column};
      --state_column;
      continue;
    }
    const int32_t id = SeqIdAt(problem, row, before);
    // Another sequence, so this one began from zero: the sources left are zeros.
    if (history.last_id >= 0 && id != history.last_id) break;
    history.last_id = id;
    history.sources[idx] = {ConvSource::Kind::kToken, before};
    --before;
  }
  return history;
}

// Whether tokens are padding, all of them: their outs are zeros, and take no history.
TILESCAN_HOST_DEVICE inline bool IsPadding(const CausalConv1dForwardProblem& problem,
                                           const ConvRow& row, int64_t first_token,
                                           int64_t end_token) {
  for (int64_t token = first_token; token < end_token; ++token) {
    if (SeqIdAt(problem, row, token) >= 0) return false;
  }
  return true;
}

// Whether the token of this id begins a sequence from zero, which the history before it does not
// belong to.
TILESCAN_HOST_DEVICE inline bool StartsFromZero(const ConvHistory& history, int32_t id) {
  return history.last_id >= 0 && id >= 0 && id != history.last_id;
}

}  // namespace tilescan

#endif  // TILESCAN_CORE_CONV_HISTORY_H_
