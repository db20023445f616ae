#include "plan/read_args.h"

#include <limits>

#include "plan/operation.h"
#include "plan/read_struct.h"

namespace tilescan::plan {
namespace {

template <typename Args>
Args WithStepDefaults() {
  Args args = {};
  args.struct_size = sizeof(Args);
  args.dt_limit[0] = 0.0f;
  args.dt_limit[1] = std::numeric_limits<float>::infinity();
  return args;
}

template <typename Problem>
void ReadCommonFields(const typename Operation<Problem>::Args& given,
                      typename Operation<Problem>::Args* full) {
  using Args = typename Operation<Problem>::Args;
  for (const auto& field : Operation<Problem>::kFields) ReadField(given, field.described, full);
  ReadField(given, &Args::dt_softplus, full);
  ReadField(given, &Args::dt_limit, full);
}

}  // namespace

tilescan_scan_forward_args DefaultScanForwardArgs() {
  return WithStepDefaults<tilescan_scan_forward_args>();
}

tilescan_state_update_args DefaultStateUpdateArgs() {
  return WithStepDefaults<tilescan_state_update_args>();
}

bool ReadArgs(const tilescan_scan_forward_args& given, tilescan_scan_forward_args* full,
              Violations* violations) {
  *full = DefaultScanForwardArgs();
  if (!CheckStructSize("args", given, violations)) return false;
  ReadCommonFields<ScanForwardProblem>(given, full);
  ReadField(given, &tilescan_scan_forward_args::states_every, full);
  return true;
}

bool ReadArgs(const tilescan_state_update_args& given, tilescan_state_update_args* full,
              Violations* violations) {
  *full = DefaultStateUpdateArgs();
  if (!CheckStructSize("args", given, violations)) return false;
  ReadCommonFields<StateUpdateProblem>(given, full);
  return true;
}

}  // namespace tilescan::plan
