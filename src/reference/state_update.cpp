#include "reference/state_update.h"

#include "core/check_indices.h"
#include "core/workspace.h"
#include "reference/recurrence.h"
#include "reference/state_matrix.h"
#include "reference/token.h"
#include "reference/update_walk.h"

namespace tilescan::reference {
namespace {

struct Buffers {
  double* state;  // (headdim, dstate)
  double* out;    // (headdim)
  TokenBuffers token;
};

Buffers Carve(const StateUpdateSizes& sizes, Carver& carver) {
  Buffers buffers;
  buffers.state = carver.Take<double>(sizes.headdim * sizes.dstate);
  buffers.out = carver.Take<double>(sizes.headdim);
  buffers.token = CarveTokenBuffers(sizes.headdim, sizes.dstate, carver);
  return buffers;
}

}  // namespace

size_t StateUpdateWorkspaceBytes(const StateUpdateProblem& problem, const Schedule&) {
  Carver carver;
  Carve(problem.sizes, carver);
  return carver.required_bytes();
}

Status RunStateUpdate(const StateUpdateProblem& problem, const Launch& launch) {
  TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  Carver carver(launch.workspace);
  const StateUpdateSizes& sizes = problem.sizes;
  const TensorView& out = problem.operands.out;
  const Buffers buffers = Carve(sizes, carver);
  const auto step = [&](const TokenPosition& position) {
    const Token token = LoadToken(problem.operands, position, buffers.token);
    StepToken(token, sizes.headdim, sizes.dstate, buffers.state, buffers.out);
    StoreVector(buffers.out, out, TokenOffset(out, position, position.head_idx));
  };
  WalkStateUpdate(problem, buffers.state, step);
  return Status();
}

}  // namespace tilescan::reference
