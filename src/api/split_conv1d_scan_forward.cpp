#include "api/init_struct.h"
#include "api/plan_handle.h"
#include "plan/read_args.h"

void tilescan_split_conv1d_scan_forward_args_init_sized(
    tilescan_split_conv1d_scan_forward_args* args, size_t struct_size) {
  tilescan::api::InitStruct(tilescan::plan::DefaultSplitConv1dScanForwardArgs(), struct_size, args);
}

tilescan_status tilescan_plan_split_conv1d_scan_forward(
    const tilescan_split_conv1d_scan_forward_args* args, const tilescan_options* options,
    tilescan_plan** plan) {
  return tilescan::api::MakePlan<tilescan::SplitConv1dScanForwardProblem>(args, options, plan);
}

tilescan_status tilescan_run_split_conv1d_scan_forward(
    const tilescan_plan* plan, const tilescan_split_conv1d_scan_forward_args* args, void* workspace,
    size_t workspace_bytes, void* stream) {
  return tilescan::api::RunPlan<tilescan::SplitConv1dScanForwardProblem>(
      plan, args, {workspace, workspace_bytes, stream});
}
