// Whether a step left the slots alone that no row may write.
#ifndef TILESCAN_TESTING_CHANGED_SLOTS_H_
#define TILESCAN_TESTING_CHANGED_SLOTS_H_

#include <string>

#include "testing/operands.h"

namespace tilescan::testing {

// What changed there: "" when every bit is as it was, or the operation has no slots.
std::string ChangedSlots(const StateUpdateOperands& before, const StateUpdateOperands& after);
std::string ChangedSlots(const ConvUpdateOperands& before, const ConvUpdateOperands& after);
template <typename Operands>
std::string ChangedSlots(const Operands&, const Operands&) {
  return "";
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CHANGED_SLOTS_H_
