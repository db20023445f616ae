#include "testing/changed_slots.h"

#include <vector>

#include "testing/compare.h"

namespace tilescan::testing {
namespace {

// The slot that a batch row uses; -1: none.
int64_t SlotOf(const HostTensor& slots, int64_t batch_idx) {
  return slots.present() ? static_cast<int64_t>(slots.Get(batch_idx)) : batch_idx;
}

std::string ChangesIn(const char* name, const HostTensor& before, const HostTensor& after,
                      const std::vector<bool>& is_written) {
  if (is_written.empty()) return "";
  const auto slot_size = before.num_elements() / static_cast<int64_t>(is_written.size());
  for (int64_t idx = 0; idx < before.num_elements(); ++idx) {
    const bool may_change = is_written[static_cast<size_t>(idx / slot_size)];
    if (may_change || before.Bits(idx) == after.Bits(idx)) continue;
    return std::string(name) + " changed at " + IndexText(before, idx) +
           ", which no row may write; ";
  }
  return "";
}

}  // namespace

std::string ChangedSlots(const StateUpdateOperands& before, const StateUpdateOperands& after) {
  std::vector<bool> is_written(static_cast<size_t>(before.state.shape()[0]), false);
  for (int64_t batch_idx = 0; batch_idx < before.x.shape()[0]; ++batch_idx) {
    const int64_t slot = SlotOf(before.state_batch_indices, batch_idx);
    const bool is_fresh = before.fresh.present() && before.fresh.Get(batch_idx) != 0.0;
    const bool has_accepted =
        !before.num_accepted.present() || before.num_accepted.Get(batch_idx) > 0.0;
    if (slot >= 0 && (is_fresh || has_accepted)) is_written[static_cast<size_t>(slot)] = true;
  }
  return ChangesIn("state", before.state, after.state, is_written);
}

std::string ChangedSlots(const ConvUpdateOperands& before, const ConvUpdateOperands& after) {
  std::vector<bool> is_written(static_cast<size_t>(before.conv_state.shape()[0]), false);
  for (int64_t batch_idx = 0; batch_idx < before.x.shape()[0]; ++batch_idx) {
    const int64_t slot = SlotOf(before.conv_state_indices, batch_idx);
    if (slot >= 0) is_written[static_cast<size_t>(slot)] = true;
  }
  return ChangesIn("conv_state", before.conv_state, after.conv_state, is_written);
}

}  // namespace tilescan::testing
