#include "testing/select.h"

#include <numeric>
#include <string_view>

namespace tilescan::testing {
namespace {

constexpr int kNoDim = -1;

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view candidate : names) {
    if (name == candidate) return true;
  }
  return false;
}

bool IsStates(std::string_view name) {
  return IsOneOf(name, {"initial_states", "final_states", "state"});
}

// Which dimension of an operand counts batch rows, tokens, heads and groups.
int BatchDim(std::string_view name) {
  const bool has_rows = IsOneOf(name, {"x", "dt", "B", "C", "z", "out", "seq_idx", "states_out"});
  return has_rows || IsStates(name) || IsOneOf(name, {"fresh", "num_accepted"}) ? 0 : kNoDim;
}

int TokenDim(std::string_view name) {
  return IsOneOf(name, {"x", "dt", "B", "C", "z", "out", "seq_idx"}) ? 1 : kNoDim;
}

int HeadDim(std::string_view name, int tokens_dims) {
  if (IsOneOf(name, {"A", "D", "dt_bias"})) return 0;
  if (IsStates(name)) return 1;
  if (name == "states_out") return 2;
  return IsOneOf(name, {"x", "dt", "z", "out"}) ? 1 + tokens_dims : kNoDim;
}

int GroupDim(std::string_view name, int tokens_dims) {
  return IsOneOf(name, {"B", "C"}) ? 1 + tokens_dims : kNoDim;
}

HostTensor SelectOrCopy(const HostTensor& tensor, int dim, const std::vector<int64_t>& positions) {
  if (dim == kNoDim) return WithLayout(tensor, Layout::kCompact);
  return Select(tensor, static_cast<size_t>(dim), positions);
}

template <typename Operands>
Operands SelectRowsOf(const Operands& operands, const std::vector<int64_t>& rows) {
  return CopyOperands(operands, [&](const char* name, const HostTensor& tensor, bool) {
    return SelectOrCopy(tensor, BatchDim(name), rows);
  });
}

template <typename Operands>
Operands SelectHeadsOf(const Operands& operands, const std::vector<int64_t>& heads,
                       const std::vector<int64_t>& groups) {
  const int tokens_dims = static_cast<int>(operands.x.shape().size()) - 3;
  return CopyOperands(operands, [&](const char* name, const HostTensor& tensor, bool) {
    const int head_dim = HeadDim(name, tokens_dims);
    if (head_dim != kNoDim) return SelectOrCopy(tensor, head_dim, heads);
    return SelectOrCopy(tensor, GroupDim(name, tokens_dims), groups);
  });
}

template <typename Operands>
Operands SelectTokensOf(const Operands& operands, const std::vector<int64_t>& tokens) {
  return CopyOperands(operands, [&](const char* name, const HostTensor& tensor, bool) {
    return SelectOrCopy(tensor, TokenDim(name), tokens);
  });
}

}  // namespace

std::vector<int64_t> Range(int64_t first, int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

HostTensor Select(const HostTensor& tensor, size_t dim, const std::vector<int64_t>& positions) {
  if (!tensor.present()) return HostTensor();
  std::vector<int64_t> shape = tensor.shape();
  int64_t inner = 1;
  for (size_t later = dim + 1; later < shape.size(); ++later) inner *= shape[later];
  const int64_t size = shape[dim];
  const auto num_positions = static_cast<int64_t>(positions.size());
  shape[dim] = num_positions;
  HostTensor selected(tensor.dtype(), shape);
  for (int64_t idx = 0; idx < selected.num_elements(); ++idx) {
    const int64_t outer_idx = idx / (inner * num_positions);
    const int64_t position = positions[static_cast<size_t>(idx / inner % num_positions)];
    selected.SetBits(idx, tensor.Bits((outer_idx * size + position) * inner + idx % inner));
  }
  return selected;
}

ScanOperands SelectRows(const ScanOperands& operands, const std::vector<int64_t>& rows) {
  return SelectRowsOf(operands, rows);
}

ScanOperands SelectTokens(const ScanOperands& operands, const std::vector<int64_t>& tokens) {
  ScanOperands selected = SelectTokensOf(operands, tokens);
  selected.states_out = HostTensor();
  selected.options.states_every = 0;
  return selected;
}

ScanOperands SelectHeads(const ScanOperands& operands, const std::vector<int64_t>& heads,
                         const std::vector<int64_t>& groups) {
  return SelectHeadsOf(operands, heads, groups);
}

StateUpdateOperands SelectRows(const StateUpdateOperands& operands,
                               const std::vector<int64_t>& rows) {
  return SelectRowsOf(operands, rows);
}

StateUpdateOperands SelectHeads(const StateUpdateOperands& operands,
                                const std::vector<int64_t>& heads,
                                const std::vector<int64_t>& groups) {
  return SelectHeadsOf(operands, heads, groups);
}

StateUpdateOperands SelectTokens(const StateUpdateOperands& operands,
                                 const std::vector<int64_t>& tokens) {
  return SelectTokensOf(operands, tokens);
}

}  // namespace tilescan::testing
