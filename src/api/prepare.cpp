#include "plan/prepare.h"

#include "api/last_error.h"
#include "api/rows.h"

tilescan_status tilescan_prepare(int32_t device) {
  return tilescan::api::Guard([&] {
    return tilescan::cuda::WithDevice(device, [] {
      return tilescan::plan::PrepareRows(tilescan::api::Facts(),
                                         tilescan::api::RowsOfAllOperations());
    });
  });
}
