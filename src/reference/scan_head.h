// One head of one row of a scan: where its operands lie, and how they are read as float64.
#ifndef TILESCAN_REFERENCE_SCAN_HEAD_H_
#define TILESCAN_REFERENCE_SCAN_HEAD_H_

#include <cstdint>

#include "core/scan_forward.h"
#include "core/sequences.h"
#include "reference/token.h"

namespace tilescan::reference {

class ScanHead {
 public:
  // Both arguments must outlive it.
  ScanHead(const ScanForwardProblem& problem, const ScanRow& row, int64_t head_idx)
      : problem_(problem), row_(row), head_idx_(head_idx) {}

  // Tokens are counted along seqlen.
  TokenPosition Position(int64_t token) const;
  // The result points into buffers.
  Token LoadToken(int64_t token, const TokenBuffers& buffers) const;
  void StoreOut(int64_t token, const double* out) const;
  // out = 0 for tokens [first_token, end_token).
  void StoreZeroOut(int64_t first_token, int64_t end_token) const;

  // The state the row begins with: zeros without initial_states.
  void LoadInitialState(double* state) const;
  // These write nothing where the operand to write is absent.
  void StoreFinalState(const double* state) const;
  // For a row with initial_states that no token advanced: bit for bit between operands of one
  // dtype.
  void CopyInitialToFinalState() const;
  // state_out_idx: along the second dimension of states_out.
  void StoreStateOut(int64_t state_out_idx, const double* state) const;

 private:
  const ScanForwardProblem& problem_;
  const ScanRow& row_;
  int64_t head_idx_;
};

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_SCAN_HEAD_H_
