// The forward scan of bf16 operands on a matrix unit: rows are walked one after another, a block of
// chunks at a time. In each block the threads first share the groups' chunks, then the heads; or,
// where rows are many, each thread takes whole rows.
#ifndef TILESCAN_CPU_SCAN_AMX_H_
#define TILESCAN_CPU_SCAN_AMX_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/scan_forward.h"
#include "cpu/kernels/scan_amx.h"
#include "plan/variant.h"

namespace tilescan::cpu {

// Why the problem is not one for a matrix unit; empty: it is.
std::string ReasonAgainstMatrixUnit(const ScanForwardProblem& problem);

size_t ScanAmxWorkspaceBytes(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                             const Schedule& schedule);

void ScanOnMatrixUnit(const ScanForwardProblem& problem, const ScanAmxSteps& steps,
                      const Launch& launch);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_AMX_H_
