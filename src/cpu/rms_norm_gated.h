// The gated RMSNorm, with groups of channels dealt out to the threads.
#ifndef TILESCAN_CPU_RMS_NORM_GATED_H_
#define TILESCAN_CPU_RMS_NORM_GATED_H_

#include <cstddef>

#include "core/rms_norm_gated.h"
#include "cpu/kernels/norm_group.h"
#include "plan/variant.h"

namespace tilescan::cpu {

size_t RmsNormGatedWorkspaceBytes(const RmsNormGatedForwardProblem& problem,
                                  const Schedule& schedule);

void RmsNormGatedForward(const RmsNormGatedForwardProblem& problem, const NormGroupSteps& steps,
                         const Launch& launch);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_RMS_NORM_GATED_H_
