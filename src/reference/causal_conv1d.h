// The causal convolution in float64, token by token.
#ifndef TILESCAN_REFERENCE_CAUSAL_CONV1D_H_
#define TILESCAN_REFERENCE_CAUSAL_CONV1D_H_

#include <cstddef>

#include "core/causal_conv1d.h"
#include "core/status.h"
#include "plan/variant.h"

namespace tilescan::reference {

// Every operand of the public interface, any dtype, any strides. No workspace.
Status RunCausalConv1dForward(const CausalConv1dForwardProblem& problem, const Launch& launch);
Status RunCausalConv1dUpdate(const CausalConv1dUpdateProblem& problem, const Launch& launch);

}  // namespace tilescan::reference

#endif  // TILESCAN_REFERENCE_CAUSAL_CONV1D_H_
