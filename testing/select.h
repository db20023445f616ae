// Parts of operands: rows, tokens and heads of a call, as a call of its own.
#ifndef TILESCAN_TESTING_SELECT_H_
#define TILESCAN_TESTING_SELECT_H_

#include <cstdint>
#include <vector>

#include "testing/host_tensor.h"
#include "testing/operands.h"

namespace tilescan::testing {

// Positions first, first + 1, ..., first + count - 1.
std::vector<int64_t> Range(int64_t first, int64_t count);

// The elements at the given positions along a dimension, in that order, bit for bit. Absent stays
// absent.
HostTensor Select(const HostTensor& tensor, size_t dim, const std::vector<int64_t>& positions);

// Calls over the given batch rows (with their states), or tokens (states stay as they are; without
// states_out), or heads: position i of heads takes head heads[i], position j of groups takes group
// groups[j], so nheads and ngroups may change.
ScanOperands SelectRows(const ScanOperands& operands, const std::vector<int64_t>& rows);
ScanOperands SelectTokens(const ScanOperands& operands, const std::vector<int64_t>& tokens);
ScanOperands SelectHeads(const ScanOperands& operands, const std::vector<int64_t>& heads,
                         const std::vector<int64_t>& groups);

// The same of a decoding step whose rows use the slots of their number.
StateUpdateOperands SelectRows(const StateUpdateOperands& operands,
                               const std::vector<int64_t>& rows);
StateUpdateOperands SelectHeads(const StateUpdateOperands& operands,
                                const std::vector<int64_t>& heads,
                                const std::vector<int64_t>& groups);
// x with its token dimension.
StateUpdateOperands SelectTokens(const StateUpdateOperands& operands,
                                 const std::vector<int64_t>& tokens);

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_SELECT_H_
