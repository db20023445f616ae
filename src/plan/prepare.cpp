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

Status PrepareRows(const DeviceFacts& facts, const RowLists<ScanForwardProblem>& scan_rows,
                   const RowLists<StateUpdateProblem>& update_rows) {
  const std::string& reason = facts.cuda().reason_against;
  if (!reason.empty()) return Status::Unsupported("prepare: " + reason);
  TILESCAN_RETURN_IF_ERROR(PrepareLists(scan_rows));
  return PrepareLists(update_rows);
}

}  // namespace tilescan::plan
