#include "api/rows.h"

namespace tilescan::api {

template <>
const plan::RowLists<ScanForwardProblem>& AllRows() {
  static const plan::RowLists<ScanForwardProblem> rows = {cpu::ScanForwardVariants(),
                                                          reference::ScanForwardVariants()};
  return rows;
}

template <>
const plan::RowLists<StateUpdateProblem>& AllRows() {
  static const plan::RowLists<StateUpdateProblem> rows = {cpu::StateUpdateVariants(),
                                                          reference::StateUpdateVariants()};
  return rows;
}

}  // namespace tilescan::api
