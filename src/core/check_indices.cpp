#include "core/check_indices.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "core/sequences.h"

namespace tilescan {
namespace {

// A broken array of a million entries shall not become a message of a million lines.
constexpr int64_t kNumListed = 8;

// Collects what is wrong into one message. Allocates nothing while there are none.
class IndexErrors {
 public:
  explicit IndexErrors(const char* prefix) : prefix_(prefix) {}

  // "name[idx] is value, expected expected"
  void Add(const char* name, int64_t idx, int64_t value, const std::string& expected) {
    if (++num_found_ > kNumListed) return;
    message_ += message_.empty() ? prefix_ : "; ";
    message_ += std::string(name) + "[" + std::to_string(idx) + "] is " + std::to_string(value) +
                ", expected " + expected;
  }

  Status ToStatus() && {
    if (num_found_ == 0) return Status();
    if (num_found_ > kNumListed) {
      message_ += "; and " + std::to_string(num_found_ - kNumListed) + " more";
    }
    return Status::InvalidArgument(std::move(message_));
  }

 private:
  const char* prefix_;
  std::string message_;
  int64_t num_found_ = 0;
};

// Batch rows by the slot they use, for a bounded number of rows: open addressing, at most half
// full, on the stack.
class SlotTable {
 public:
  static constexpr int64_t kMaxRows = 256;

  SlotTable() { rows_.fill(kFree); }

  // The row already there with this slot, else -1 after entering row (unless row is negative).
  int64_t FindOrAdd(int64_t slot, int64_t row) {
    size_t place = (static_cast<uint64_t>(slot) * 0x9E3779B97F4A7C15u) >> (64 - kLog2Places);
    while (rows_[place] != kFree) {
      if (slots_[place] == slot) return rows_[place];
      place = (place + 1) % kNumPlaces;
    }
    if (row >= 0) {
      rows_[place] = row;
      slots_[place] = slot;
    }
    return -1;
  }

 private:
  static constexpr int kLog2Places = 9;
  static constexpr size_t kNumPlaces = size_t{1} << kLog2Places;
  static constexpr int64_t kFree = -1;

  std::array<int64_t, kNumPlaces> rows_;
  std::array<int64_t, kNumPlaces> slots_;
};

// The slots that batch rows use: an index operand of one dimension, and its name.
struct Slots {
  const char* name;
  const TensorView& view;
  int64_t batch;
  int64_t num_slots;
};

void CheckSlotRange(const Slots& slots, IndexErrors& errors) {
  for (int64_t batch_idx = 0; batch_idx < slots.batch; ++batch_idx) {
    const int64_t slot = IndexAt(slots.view, batch_idx);
    if (slot >= slots.num_slots) {
      errors.Add(slots.name, batch_idx, slot,
                 "less than slots, which is " + std::to_string(slots.num_slots));
    }
  }
}

// A block of rows goes into a table; every later row is looked up in it.
void CheckSlotsDiffer(const Slots& slots, IndexErrors& errors) {
  for (int64_t block = 0; block < slots.batch; block += SlotTable::kMaxRows) {
    SlotTable table;
    for (int64_t batch_idx = block; batch_idx < slots.batch; ++batch_idx) {
      const int64_t slot = IndexAt(slots.view, batch_idx);
      if (slot < 0) continue;
      const bool is_in_block = batch_idx < block + SlotTable::kMaxRows;
      const int64_t earlier_idx = table.FindOrAdd(slot, is_in_block ? batch_idx : -1);
      if (earlier_idx < 0) continue;
      errors.Add(slots.name, batch_idx, slot,
                 "each slot once: " + std::string(slots.name) + "[" + std::to_string(earlier_idx) +
                     "] is the same");
    }
  }
}

void CheckSlots(const Slots& slots, IndexErrors& errors) {
  if (!slots.view.present()) return;
  CheckSlotRange(slots, errors);
  CheckSlotsDiffer(slots, errors);
}

void CheckNumAccepted(const StateUpdateProblem& problem, IndexErrors& errors) {
  const TensorView& slots = problem.operands.state_batch_indices;
  for (int64_t batch_idx = 0; batch_idx < problem.sizes.batch; ++batch_idx) {
    if (slots.present() && IndexAt(slots, batch_idx) < 0) continue;
    const int64_t num_accepted = IndexAt(problem.operands.num_accepted, batch_idx);
    if (num_accepted < 0 || num_accepted > problem.sizes.num_tokens) {
      errors.Add("num_accepted", batch_idx, num_accepted,
                 "0 to T, which is " + std::to_string(problem.sizes.num_tokens));
    }
  }
}

void CheckCacheSeqlens(const CausalConv1dUpdateProblem& problem, IndexErrors& errors) {
  const TensorView& slots = problem.operands.conv_state_indices;
  for (int64_t batch_idx = 0; batch_idx < problem.sizes.batch; ++batch_idx) {
    if (slots.present() && IndexAt(slots, batch_idx) < 0) continue;
    const int64_t cache_seqlen = IndexAt(problem.operands.cache_seqlens, batch_idx);
    if (cache_seqlen < 0) errors.Add("cache_seqlens", batch_idx, cache_seqlen, "0 or more");
  }
}

// cu_seqlens of any operation over whole sequences.
template <typename Problem>
Status CheckCuSeqlens(const char* prefix, const Problem& problem) {
  const TensorView& cu_seqlens = problem.operands.cu_seqlens;
  if (!cu_seqlens.present()) return Status();
  IndexErrors errors(prefix);
  const int64_t first = IndexAt(cu_seqlens, 0);
  if (first != 0) errors.Add("cu_seqlens", 0, first, "0");
  int64_t before = first;
  for (int64_t idx = 1; idx <= problem.sizes.num_seqs; ++idx) {
    const int64_t end = IndexAt(cu_seqlens, idx);
    if (end < before) {
      errors.Add("cu_seqlens", idx, end,
                 "at least cu_seqlens[" + std::to_string(idx - 1) + "], which is " +
                     std::to_string(before));
    }
    before = end;
  }
  if (before != problem.sizes.seqlen) {
    errors.Add("cu_seqlens", problem.sizes.num_seqs, before,
               "seqlen, which is " + std::to_string(problem.sizes.seqlen));
  }
  return std::move(errors).ToStatus();
}

}  // namespace

Status CheckIndices(const ScanForwardProblem& problem) {
  return CheckCuSeqlens("scan_forward: ", problem);
}

Status CheckIndices(const CausalConv1dForwardProblem& problem) {
  return CheckCuSeqlens("causal_conv1d_forward: ", problem);
}

Status CheckIndices(const SplitConv1dScanForwardProblem& problem) {
  return CheckCuSeqlens("split_conv1d_scan_forward: ", problem);
}

Status CheckIndices(const StateUpdateProblem& problem) {
  IndexErrors errors("state_update: ");
  CheckSlots({"state_batch_indices", problem.operands.state_batch_indices, problem.sizes.batch,
              problem.sizes.num_slots},
             errors);
  if (problem.operands.num_accepted.present()) CheckNumAccepted(problem, errors);
  return std::move(errors).ToStatus();
}

Status CheckIndices(const CausalConv1dUpdateProblem& problem) {
  IndexErrors errors("causal_conv1d_update: ");
  CheckSlots({"conv_state_indices", problem.operands.conv_state_indices, problem.sizes.batch,
              problem.sizes.num_slots},
             errors);
  if (problem.operands.cache_seqlens.present()) CheckCacheSeqlens(problem, errors);
  return std::move(errors).ToStatus();
}

}  // namespace tilescan
