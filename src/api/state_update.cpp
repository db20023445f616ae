#include "api/init_struct.h"
#include "api/plan_handle.h"
#include "plan/read_args.h"

void tilescan_state_update_args_init_sized(tilescan_state_update_args* args, size_t struct_size) {
  tilescan::api::InitStruct(tilescan::plan::DefaultStateUpdateArgs(), struct_size, args);
}

tilescan_status tilescan_plan_state_update(const tilescan_state_update_args* args,
                                           const tilescan_options* options, tilescan_plan** plan) {
  return tilescan::api::MakePlan<tilescan::StateUpdateProblem>(args, options, plan);
}

tilescan_status tilescan_run_state_update(const tilescan_plan* plan,
                                          const tilescan_state_update_args* args, void* workspace,
                                          size_t workspace_bytes, void* stream) {
  return tilescan::api::RunPlan<tilescan::StateUpdateProblem>(plan, args,
                                                              {workspace, workspace_bytes, stream});
}
