// The problems that split_conv1d_scan_forward is made of, over views of its operands.
#ifndef TILESCAN_PLAN_SPLIT_PARTS_H_
#define TILESCAN_PLAN_SPLIT_PARTS_H_

#include "core/causal_conv1d.h"
#include "core/rms_norm_gated.h"
#include "core/scan_forward.h"
#include "core/split_conv1d_scan.h"

namespace tilescan::plan {

struct SplitParts {
  CausalConv1dForwardProblem conv;
  ScanForwardProblem scan;
  RmsNormGatedForwardProblem norm;  // in place over the scan's out; only with rmsnorm_weight
};

// xBC: memory for the convolution's out, (batch, seqlen, conv_dim) compact in zxbcdt's dtype, on a
// boundary of kVectorAlignment. Without data, as when planning, parts have none either.
SplitParts MakeSplitParts(const SplitConv1dScanForwardProblem& problem, void* xBC);

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_SPLIT_PARTS_H_
