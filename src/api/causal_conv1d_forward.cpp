#include "api/init_struct.h"
#include "api/plan_handle.h"
#include "plan/read_args.h"

void tilescan_causal_conv1d_forward_args_init_sized(tilescan_causal_conv1d_forward_args* args,
                                                    size_t struct_size) {
  tilescan::api::InitStruct(tilescan::plan::DefaultCausalConv1dForwardArgs(), struct_size, args);
}

tilescan_status tilescan_plan_causal_conv1d_forward(const tilescan_causal_conv1d_forward_args* args,
                                                    const tilescan_options* options,
                                                    tilescan_plan** plan) {
  return tilescan::api::MakePlan<tilescan::CausalConv1dForwardProblem>(args, options, plan);
}

tilescan_status tilescan_run_causal_conv1d_forward(const tilescan_plan* plan,
                                                   const tilescan_causal_conv1d_forward_args* args,
                                                   void* workspace, size_t workspace_bytes,
                                                   void* stream) {
  return tilescan::api::RunPlan<tilescan::CausalConv1dForwardProblem>(
      plan, args, {workspace, workspace_bytes, stream});
}
