#include "api/init_struct.h"
#include "api/plan_handle.h"
#include "plan/read_args.h"

void tilescan_rms_norm_gated_forward_args_init_sized(tilescan_rms_norm_gated_forward_args* args,
                                                     size_t struct_size) {
  tilescan::api::InitStruct(tilescan::plan::DefaultRmsNormGatedForwardArgs(), struct_size, args);
}

tilescan_status tilescan_plan_rms_norm_gated_forward(
    const tilescan_rms_norm_gated_forward_args* args, const tilescan_options* options,
    tilescan_plan** plan) {
  return tilescan::api::MakePlan<tilescan::RmsNormGatedForwardProblem>(args, options, plan);
}

tilescan_status tilescan_run_rms_norm_gated_forward(
    const tilescan_plan* plan, const tilescan_rms_norm_gated_forward_args* args, void* workspace,
    size_t workspace_bytes, void* stream) {
  return tilescan::api::RunPlan<tilescan::RmsNormGatedForwardProblem>(
      plan, args, {workspace, workspace_bytes, stream});
}
