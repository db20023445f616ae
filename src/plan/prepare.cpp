#include "plan/prepare.h"

#include <string>

namespace tilescan::plan {
namespace {

template <typename Problem>
Status PrepareLists(const RowLists<Problem>& row_lists) {
  for (const auto& rows : row_lists) {
    for (const Variant<Problem>& row : rows) {
      if (row.prepare_all != nullptr) TILESCAN_RETURN_IF_ERROR(row.prepare_all());
    }
  }
  return Status();
}

}  // namespace

Status PrepareRows(const DeviceFacts& facts, const AllRowLists& row_lists) {
  const std::string& reason = facts.cuda().reason_against;
  if (!reason.empty()) return Status::Unsupported("prepare: " + reason);
  Status status;
  std::apply(
      [&status](const auto&... lists) {
        static_cast<void>(((status = PrepareLists(lists)).ok() && ...));
      },
      row_lists);
  return status;
}

}  // namespace tilescan::plan
