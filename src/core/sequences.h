// Which tokens a state passes through, and in what order: the one place that knows what batch rows,
// cu_seqlens and seq_idx mean. Allocates nothing.
//
//   for (int64_t row_idx = 0; row_idx < NumScanRows(problem); ++row_idx) {
//     const ScanRow row = GetScanRow(problem, row_idx);
//     state = initial_states[row.state_idx], or zeros without initial_states
//     RunCursor cursor(problem, row);
//     TokenRun run;
//     while (cursor.NextRun(&run)) {
//       if (run.is_padding) { out = 0 for these tokens; continue; }
//       if (run.starts_from_zero) state = 0;
//       advance the state through the run's tokens
//     }
//     final_states[row.state_idx] = state
//   }
//
// The states of states_out are those after the row's tokens k, 2k, ..., whatever runs they fall in:
// inside or behind padding it is the state that passes there.
#ifndef TILESCAN_CORE_SEQUENCES_H_
#define TILESCAN_CORE_SEQUENCES_H_

#include <cstdint>

#include "core/scan_forward.h"

namespace tilescan {

// A row of tokens along which one state is carried: a batch row, or a packed sequence.
struct ScanRow {
  int64_t batch_idx = 0;     // row of x, dt, B, C, z, out and states_out; 0 when packed
  int64_t state_idx = 0;     // row of initial_states and final_states
  int64_t first_token = 0;   // its first token along seqlen
  int64_t num_tokens = 0;    // 0: no run; the final state is the initial state bit for bit
  int64_t states_every = 0;  // 0: no states_out
  // The state after the row's token (i + 1) * states_every is states_out[batch_idx][first_state_out
  // + i], for i in [0, num_states_out).
  int64_t first_state_out = 0;
  int64_t num_states_out = 0;
};

// Neighbouring tokens of a row that are treated alike.
struct TokenRun {
  int64_t first_token = 0;  // along seqlen, as ScanRow::first_token
  int64_t num_tokens = 0;   // at least 1
  // seq_idx is negative here: out is 0, the state passes unchanged, no other operand is read.
  bool is_padding = false;
  // A sequence begins here, and it is not the row's first: the state before it is zero. The first
  // sequence, and one that goes on behind padding, take the state as it stands.
  bool starts_from_zero = false;
};

// The number of rows: batch, or the number of packed sequences. Of the scan, or of another
// operation over the same sequences.
template <typename Problem>
int64_t NumScanRows(const Problem& problem) {
  return problem.sizes.num_seqs;
}

// Element idx of an operand of dtype int32 or int64, of one dimension.
TILESCAN_HOST_DEVICE inline int64_t IndexAt(const TensorView& view, int64_t idx) {
  const int64_t offset = idx * view.strides[0];
  return view.dtype == DType::kInt64 ? *view.At<const int64_t>(offset)
                                     : *view.At<const int32_t>(offset);
}

// Without states_out. row_idx in [0, NumScanRows(problem)). The operands have their data, and
// cu_seqlens its right values: CheckIndices() has passed.
template <typename Problem>
ScanRow GetTokenRow(const Problem& problem, int64_t row_idx) {
  const auto& operands = problem.operands;
  ScanRow row;
  row.state_idx = row_idx;
  if (operands.cu_seqlens.present()) {
    row.first_token = IndexAt(operands.cu_seqlens, row_idx);
    row.num_tokens = IndexAt(operands.cu_seqlens, row_idx + 1) - row.first_token;
  } else {
    row.batch_idx = row_idx;
    row.num_tokens = problem.sizes.seqlen;
  }
  return row;
}

// The same with states_out.
inline ScanRow GetScanRow(const ScanForwardProblem& problem, int64_t row_idx) {
  const ScanForwardOperands& operands = problem.operands;
  ScanRow row = GetTokenRow(problem, row_idx);
  if (operands.states_out.present()) {
    row.states_every = operands.states_every;
    row.num_states_out = row.num_tokens / row.states_every;
    if (operands.cu_seqlens.present()) {
      row.first_state_out = row.first_token / row.states_every + row_idx;
    }
  }
  return row;
}

// Where along states_out the state after token (along seqlen, of this row) goes; -1: nowhere.
inline int64_t StateOutIdxAfter(const ScanRow& row, int64_t token) {
  if (row.states_every == 0) return -1;
  const int64_t num_seen = token + 1 - row.first_token;
  if (num_seen % row.states_every != 0) return -1;
  return row.first_state_out + num_seen / row.states_every - 1;
}

// Walks the runs of a row in order. Together they cover the row's tokens. Without seq_idx a row is
// one run. What seq_idx views must outlive the cursor.
class RunCursor {
 public:
  template <typename Problem>
  RunCursor(const Problem& problem, const ScanRow& row)
      : RunCursor(problem.operands.seq_idx, row) {}
  // last_id: of the sequence last seen before the row's first token, where that is in the middle of
  // a row; negative: none.
  RunCursor(const TensorView& seq_idx, const ScanRow& row, int32_t last_id = -1)
      : next_token_(row.first_token),
        end_token_(row.first_token + row.num_tokens),
        last_id_(last_id) {
    if (!seq_idx.present() || row.num_tokens == 0) return;
    ids_ = seq_idx.At<const int32_t>(row.batch_idx * seq_idx.strides[0]);
    id_stride_ = seq_idx.strides[1];
  }

  // False when the row has no further run.
  bool NextRun(TokenRun* run) {
    if (next_token_ == end_token_) return false;
    *run = TokenRun{};
    run->first_token = next_token_;
    if (ids_ == nullptr) {
      run->num_tokens = end_token_ - next_token_;
      next_token_ = end_token_;
      return true;
    }
    const int32_t id = IdAt(next_token_);
    run->is_padding = id < 0;
    ++next_token_;
    // All negative ids are the same padding.
    while (next_token_ < end_token_ &&
           (run->is_padding ? IdAt(next_token_) < 0 : IdAt(next_token_) == id)) {
      ++next_token_;
    }
    run->num_tokens = next_token_ - run->first_token;
    if (!run->is_padding) {
      run->starts_from_zero = last_id_ >= 0 && id != last_id_;
      last_id_ = id;
    }
    return true;
  }

 private:
  int32_t IdAt(int64_t token) const { return ids_[token * id_stride_]; }

  const int32_t* ids_ = nullptr;
  int64_t id_stride_ = 0;
  int64_t next_token_;
  int64_t end_token_;
  int32_t last_id_;  // of the sequence last seen; negative: none yet
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_SEQUENCES_H_
