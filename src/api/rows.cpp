#include "api/rows.h"

namespace tilescan::api {

template <>
const plan::RowLists<ScanForwardProblem>& AllRows() {
  static const plan::RowLists<ScanForwardProblem> rows = {
      cpu::ScanForwardVariants(), hopper::ScanForwardVariants(), tile::ScanForwardVariants(),
      reference::ScanForwardVariants()};
  return rows;
}

template <>
const plan::RowLists<StateUpdateProblem>& AllRows() {
  static const plan::RowLists<StateUpdateProblem> rows = {
      cpu::StateUpdateVariants(), cuda::StateUpdateVariants(), reference::StateUpdateVariants()};
  return rows;
}

const DeviceFacts& Facts() {
  static const DeviceFacts facts = {cpu::Facts(), &cuda::Facts};
  return facts;
}

}  // namespace tilescan::api
