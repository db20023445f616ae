#include "api/rows.h"

namespace tilescan::api {

template <>
const plan::RowLists<ScanForwardProblem>& AllRows<ScanForwardProblem>() {
  static const plan::RowLists<ScanForwardProblem> rows = {
      cpu::ScanForwardVariants(), hopper::ScanForwardVariants(), tile::ScanForwardVariants(),
      reference::ScanForwardVariants()};
  return rows;
}

template <>
const plan::RowLists<StateUpdateProblem>& AllRows<StateUpdateProblem>() {
  static const plan::RowLists<StateUpdateProblem> rows = {
      cpu::StateUpdateVariants(), cuda::StateUpdateVariants(), reference::StateUpdateVariants()};
  return rows;
}

template <>
const plan::RowLists<CausalConv1dForwardProblem>& AllRows<CausalConv1dForwardProblem>() {
  static const plan::RowLists<CausalConv1dForwardProblem> rows = {
      cpu::CausalConv1dForwardVariants(), cuda::CausalConv1dForwardVariants(),
      reference::CausalConv1dForwardVariants()};
  return rows;
}

template <>
const plan::RowLists<CausalConv1dUpdateProblem>& AllRows<CausalConv1dUpdateProblem>() {
  static const plan::RowLists<CausalConv1dUpdateProblem> rows = {
      cpu::CausalConv1dUpdateVariants(), cuda::CausalConv1dUpdateVariants(),
      reference::CausalConv1dUpdateVariants()};
  return rows;
}

template <>
const plan::RowLists<RmsNormGatedForwardProblem>& AllRows<RmsNormGatedForwardProblem>() {
  static const plan::RowLists<RmsNormGatedForwardProblem> rows = {
      cpu::RmsNormGatedForwardVariants(), cuda::RmsNormGatedForwardVariants(),
      reference::RmsNormGatedForwardVariants()};
  return rows;
}

template <>
const plan::SplitRowLists& AllRows<SplitConv1dScanForwardProblem>() {
  static const plan::SplitRowLists rows = {AllRows<CausalConv1dForwardProblem>(),
                                           AllRows<ScanForwardProblem>(),
                                           AllRows<RmsNormGatedForwardProblem>()};
  return rows;
}

plan::AllRowLists RowsOfAllOperations() {
  return {AllRows<ScanForwardProblem>(), AllRows<StateUpdateProblem>(),
          AllRows<CausalConv1dForwardProblem>(), AllRows<CausalConv1dUpdateProblem>(),
          AllRows<RmsNormGatedForwardProblem>()};
}

const DeviceFacts& Facts() {
  static const DeviceFacts facts = {cpu::Facts(), &cuda::Facts};
  return facts;
}

}  // namespace tilescan::api
