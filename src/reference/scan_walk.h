// The order of a scan: for every row and head, its tokens from first to last, with one state
// carried along. What happens at a token (or a few of them) is the caller's.
#ifndef TILESCAN_REFERENCE_SCAN_WALK_H_
#define TILESCAN_REFERENCE_SCAN_WALK_H_

#include <algorithm>
#include <cstdint>

#include "core/scan_forward.h"
#include "core/sequences.h"
#include "reference/scan_head.h"

namespace tilescan::reference {

// Tokens [first_token, end_token) along seqlen.
struct TokenSpan {
  int64_t first_token = 0;
  int64_t end_token = 0;
};

// How far a span that begins at token may reach: to the next multiple of max_tokens in its row, and
// to the next state that states_out asks for.
inline int64_t EndOfSpan(const ScanRow& row, int64_t token, int64_t max_tokens) {
  const int64_t num_seen = token - row.first_token;
  int64_t num_tokens = max_tokens - num_seen % max_tokens;
  if (row.states_every > 0) {
    num_tokens = std::min(num_tokens, row.states_every - num_seen % row.states_every);
  }
  return token + num_tokens;
}

// Calls advance(head, span) for neighbouring spans of at most max_tokens tokens, none of them
// padding: it advances state, (headdim, dstate), through them and stores their out. Everything else
// is done here: initial and final states, states_out, sequences that begin from zero, padding.
template <typename Advance>
void WalkHead(const ScanForwardProblem& problem, const ScanRow& row, const ScanHead& head,
              int64_t max_tokens, double* state, const Advance& advance) {
  head.LoadInitialState(state);
  bool has_advanced = false;
  RunCursor cursor(problem, row);
  for (TokenRun run; cursor.NextRun(&run);) {
    if (run.starts_from_zero) {
      std::fill_n(state, problem.sizes.headdim * problem.sizes.dstate, 0.0);
    }
    has_advanced = has_advanced || !run.is_padding;
    const int64_t end_of_run = run.first_token + run.num_tokens;
    for (TokenSpan span{run.first_token, 0}; span.first_token < end_of_run;
         span.first_token = span.end_token) {
      span.end_token = std::min(end_of_run, EndOfSpan(row, span.first_token, max_tokens));
      if (run.is_padding) {
        head.StoreZeroOut(span.first_token, span.end_token);
      } else {
        advance(head, span);
      }
      const int64_t state_out_idx = StateOutIdxAfter(row, span.end_token - 1);
      if (state_out_idx >= 0) head.StoreStateOut(state_out_idx, state);
    }
  }
  if (has_advanced || !problem.operands.initial_states.present()) {
    head.StoreFinalState(state);
  } else {
    head.CopyInitialToFinalState();
  }
}

template <typename Advance>
void WalkScan(const ScanForwardProblem& problem, int64_t max_tokens, double* state,
              const Advance& advance) {
  for (int64_t row_idx = 0; row_idx < NumScanRows(problem); ++row_idx) {
    const ScanRow row = GetScanRow(problem, row_idx);
    for (int64_t head_idx = 0; head_idx < problem.sizes.nheads; ++head_idx) {
      const ScanHead head(problem, row, head_idx);
      WalkHead(problem, row, head, max_tokens, state, advance);
    }
  }
}

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_SCAN_WALK_H_
