#include "cli/operands.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/safetensors_header.h"

namespace tilescan::cli {
namespace {

template <typename Args>
struct Field {
  const char* name;
  tilescan_tensor Args::*member;
};

using Scan = tilescan_scan_forward_args;
constexpr std::array<Field<Scan>, 11> kScanInputs = {{
    {"x", &Scan::x},
    {"dt", &Scan::dt},
    {"A", &Scan::A},
    {"B", &Scan::B},
    {"C", &Scan::C},
    {"D", &Scan::D},
    {"z", &Scan::z},
    {"dt_bias", &Scan::dt_bias},
    {"initial_states", &Scan::initial_states},
    {"seq_idx", &Scan::seq_idx},
    {"cu_seqlens", &Scan::cu_seqlens},
}};
constexpr std::array<Field<Scan>, 3> kScanOutputs = {{
    {"out", &Scan::out},
    {"final_states", &Scan::final_states},
    {"states_out", &Scan::states_out},
}};

using Update = tilescan_state_update_args;
constexpr std::array<Field<Update>, 12> kUpdateInputs = {{
    {"state", &Update::state},
    {"x", &Update::x},
    {"dt", &Update::dt},
    {"A", &Update::A},
    {"B", &Update::B},
    {"C", &Update::C},
    {"D", &Update::D},
    {"z", &Update::z},
    {"dt_bias", &Update::dt_bias},
    {"state_batch_indices", &Update::state_batch_indices},
    {"fresh", &Update::fresh},
    {"num_accepted", &Update::num_accepted},
}};
constexpr std::array<Field<Update>, 2> kUpdateOutputs = {{
    {"state", &Update::state},
    {"out", &Update::out},
}};

template <typename Args, size_t kSize>
std::vector<Operand> Bind(const std::array<Field<Args>, kSize>& fields, Args* args) {
  std::vector<Operand> operands;
  for (const Field<Args>& field : fields) operands.push_back({field.name, &(args->*field.member)});
  return operands;
}

Operand* Find(std::vector<Operand>* operands, const std::string& name) {
  const auto found = std::find_if(operands->begin(), operands->end(),
                                  [&](const Operand& operand) { return operand.name == name; });
  return found == operands->end() ? nullptr : &*found;
}

std::string Names(const std::vector<Operand>& operands, const char* prefix) {
  std::string names;
  for (const Operand& operand : operands) names += Concat(" ", prefix, operand.name);
  return names;
}

tilescan_tensor Compact(const tilescan_dtype& dtype, const std::vector<int64_t>& shape) {
  return tilescan_contiguous(nullptr, dtype, static_cast<int32_t>(shape.size()), shape.data());
}

// states are float32 unless asked for otherwise, as in the public implementation; float64 operands
// are the reference's, and keep their precision.
tilescan_dtype StateDType(const ProblemOptions& options, const tilescan_tensor& x) {
  if (options.state_dtype) return *options.state_dtype;
  return SameDType(x.dtype, tilescan_float64()) ? tilescan_float64() : tilescan_float32();
}

void DescribeScanOutputs(const ProblemOptions& options, Scan* args) {
  if (args->x.ndim != 4 || args->B.ndim != 4) return;
  args->out = Compact(args->x.dtype,
                      {args->x.shape[0], args->x.shape[1], args->x.shape[2], args->x.shape[3]});
  const bool packed = IsPresent(args->cu_seqlens);
  if (packed && (args->cu_seqlens.ndim != 1 || args->cu_seqlens.shape[0] < 1)) return;

  const tilescan_dtype dtype = StateDType(options, args->x);
  const int64_t batch = args->x.shape[0];
  const int64_t seqlen = args->x.shape[1];
  const int64_t nheads = args->x.shape[2];
  const int64_t headdim = args->x.shape[3];
  const int64_t dstate = args->B.shape[3];
  const int64_t num_seqs = packed ? args->cu_seqlens.shape[0] - 1 : batch;
  args->final_states = Compact(dtype, {num_seqs, nheads, headdim, dstate});
  if (args->states_every == 0) return;
  const int64_t num_states = seqlen / args->states_every + (packed ? num_seqs : 0);
  args->states_out = Compact(dtype, {batch, num_states, nheads, headdim, dstate});
}

void DescribeUpdateOutputs(const ProblemOptions& options, Update* args) {
  if (options.state_dtype && IsPresent(args->state) &&
      !SameDType(*options.state_dtype, args->state.dtype)) {
    throw Error(Concat("state_update: state is ", FindDType(args->state.dtype)->name,
                       " and is updated in place, so state_dtype cannot be ",
                       FindDType(*options.state_dtype)->name));
  }
  if (IsPresent(args->x)) {
    args->out = tilescan_contiguous(nullptr, args->x.dtype, args->x.ndim, std::data(args->x.shape));
  }
}

}  // namespace

Operation OperationOf(const OperationArgs& args) {
  return std::holds_alternative<Scan>(args) ? Operation::kScanForward : Operation::kStateUpdate;
}

std::vector<Operand> InputOperands(OperationArgs* args) {
  if (auto* scan = std::get_if<Scan>(args)) return Bind(kScanInputs, scan);
  return Bind(kUpdateInputs, std::get_if<Update>(args));
}

std::vector<Operand> OutputOperands(OperationArgs* args) {
  if (auto* scan = std::get_if<Scan>(args)) return Bind(kScanOutputs, scan);
  return Bind(kUpdateOutputs, std::get_if<Update>(args));
}

OperationArgs EmptyArgs(const ProblemOptions& options) {
  OperationArgs args;
  if (options.operation_or_default() == Operation::kScanForward) {
    Scan scan;
    tilescan_scan_forward_args_init(&scan);
    scan.states_every = options.states_every.value_or(0);
    args = scan;
  } else {
    if (options.states_every.value_or(0) != 0 || options.chunk_size.value_or(0) != 0) {
      throw Error("state_update: states_every and chunk_size are options of scan_forward");
    }
    Update update;
    tilescan_state_update_args_init(&update);
    args = update;
  }
  std::visit(
      [&](auto& of_operation) {
        of_operation.dt_softplus = options.dt_softplus.value_or(false) ? 1 : 0;
        if (options.dt_limit) {
          of_operation.dt_limit[0] = options.dt_limit->first;
          of_operation.dt_limit[1] = options.dt_limit->second;
        }
      },
      args);
  return args;
}

void BindInputs(SafetensorsFile* file, OperationArgs* args) {
  const std::string prefix = kExpectedPrefix;
  std::vector<Operand> inputs = InputOperands(args);
  std::vector<Operand> outputs = OutputOperands(args);
  for (const auto& [name, entry] : file->content().tensors) {
    if (Operand* input = Find(&inputs, name)) {
      *input->tensor = file->Tensor(name);
    } else if (!name.starts_with(prefix) || Find(&outputs, name.substr(prefix.size())) == nullptr) {
      throw Error(Concat(file->path(), ": tensor ", Quote(name), " is not an operand of ",
                         OperationName(OperationOf(*args)), " (", Names(inputs, "").substr(1),
                         ") nor an expected value (", Names(outputs, kExpectedPrefix).substr(1),
                         ")"));
    }
  }
}

void DescribeOutputs(const ProblemOptions& options, OperationArgs* args) {
  if (auto* scan = std::get_if<Scan>(args)) {
    DescribeScanOutputs(options, scan);
  } else {
    DescribeUpdateOutputs(options, std::get_if<Update>(args));
  }
}

}  // namespace tilescan::cli
