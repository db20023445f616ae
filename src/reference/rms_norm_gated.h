// The gated RMSNorm in float64.
#ifndef TILESCAN_REFERENCE_RMS_NORM_GATED_H_
#define TILESCAN_REFERENCE_RMS_NORM_GATED_H_

#include <cstddef>

#include "core/rms_norm_gated.h"
#include "core/status.h"
#include "plan/variant.h"

namespace tilescan::reference {

size_t RmsNormGatedWorkspaceBytes(const RmsNormGatedForwardProblem& problem,
                                  const Schedule& schedule);
// Every operand of the public interface, any dtype, any strides.
Status RunRmsNormGatedForward(const RmsNormGatedForwardProblem& problem, const Launch& launch);

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_RMS_NORM_GATED_H_
