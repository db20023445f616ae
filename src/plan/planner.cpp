#include "plan/planner.h"

#include <algorithm>

#include "core/workspace.h"
#include "plan/operation.h"
#include "plan/read_struct.h"
#include "plan/text.h"

namespace tilescan::plan {
namespace {

std::string NameOrEmpty(const char* name) { return name == nullptr ? "" : name; }

bool IsFloat64(const TensorView& view) { return view.dtype == DType::kFloat64; }

template <typename Problem>
bool HasFloat64(const Problem& problem) {
  const auto& fields = Operation<Problem>::kFields;
  return std::any_of(std::begin(fields), std::end(fields),
                     [&](const auto& field) { return IsFloat64(problem.operands.*field.view); });
}

void CheckName(const char* option, const std::string& name, std::vector<std::string> existing,
               Violations* violations) {
  if (name.empty() || std::find(existing.begin(), existing.end(), name) != existing.end()) return;
  std::vector<std::string> distinct;
  for (const std::string& item : existing) {
    const std::string quoted = '"' + item + '"';
    if (std::find(distinct.begin(), distinct.end(), quoted) == distinct.end()) {
      distinct.push_back(quoted);
    }
  }
  violations->Add(
      Text("options.", option, " is \"", name, "\", expected ", ListText(distinct, "or")));
}

// Empty if the options allow the row.
template <typename Problem>
std::string ReasonAgainstByOptions(const Variant<Problem>& row, const Options& options,
                                   const std::string& backend) {
  if (row.backend != backend) return Text("the backend is ", backend);
  if (!options.kernel.empty() && row.name != options.kernel) {
    return Text("the kernel asked for is ", options.kernel);
  }
  const std::string& instruction_set = options.instruction_set;
  if (!instruction_set.empty() && row.instruction_set != instruction_set) {
    return Text("the instruction set asked for is ", instruction_set);
  }
  return "";
}

template <typename Problem>
Rejected Reject(const Variant<Problem>& row, std::string reason) {
  return {row.backend, row.name, row.instruction_set, std::move(reason)};
}

std::string RowText(const Rejected& rejected) {
  std::string text = rejected.backend + "/" + rejected.kernel;
  if (!rejected.instruction_set.empty()) text += "/" + rejected.instruction_set;
  return text;
}

Status NoKernel(const char* operation, const std::vector<Rejected>& rejected) {
  std::string message = std::string(operation) + ": no kernel can do this";
  for (const Rejected& row : rejected) message += Text("; not ", RowText(row), ": ", row.reason);
  return Status::Unsupported(std::move(message));
}

template <typename Problem>
Schedule MakeSchedule(const Variant<Problem>& row, const Problem& problem, const Options& options,
                      const DeviceFacts& facts) {
  Schedule schedule;
  schedule.chunk_size = row.choose_chunk_size(problem, facts, options.chunk_size);
  // A row that prepares no threads runs on the caller's.
  if (row.prepare != nullptr && !row.takes_stream) {
    schedule.num_threads = options.num_threads != 0 ? options.num_threads : facts.cpu.num_threads;
    schedule.executor = options.executor;
  }
  return schedule;
}

template <typename Problem>
struct Candidate {
  const Variant<Problem>* row;
  double cost;
};

template <typename Problem>
std::string ReasonFor(const std::vector<Candidate<Problem>>& candidates,
                      const Candidate<Problem>& taken, const Options& options,
                      const std::string& backend) {
  std::vector<std::string> parts;
  if (!options.backend.empty()) {
    parts.push_back("the backend was asked for");
  } else if (backend == kReferenceBackend) {
    parts.push_back("only the reference takes float64 operands");
  } else {
    parts.push_back("the default backend");
  }
  if (!options.kernel.empty()) parts.push_back("the kernel was asked for");
  if (!options.instruction_set.empty()) parts.push_back("the instruction set was asked for");
  parts.push_back(candidates.size() == 1
                      ? "the only kernel that can"
                      : Text("cost ", taken.cost, ", the least of ", candidates.size()));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

Options ReadOptions(const tilescan_options* given, Violations* violations) {
  tilescan_options full = {};
  if (given != nullptr && CheckStructSize("options", *given, violations)) {
    ReadField(*given, &tilescan_options::backend, &full);
    ReadField(*given, &tilescan_options::kernel, &full);
    ReadField(*given, &tilescan_options::instruction_set, &full);
    ReadField(*given, &tilescan_options::chunk_size, &full);
    ReadField(*given, &tilescan_options::num_threads, &full);
    ReadField(*given, &tilescan_options::executor, &full);
    ReadField(*given, &tilescan_options::check_indices, &full);
  }
  if (full.chunk_size < 0) {
    violations->Add(
        Text("options.chunk_size is ", full.chunk_size, ", expected 0 (choose) or more"));
  }
  if (full.num_threads < 0 || full.num_threads > kMaxNumThreads) {
    violations->Add(Text("options.num_threads is ", full.num_threads, ", expected 0 (all) to ",
                         kMaxNumThreads));
  }
  if (full.executor != nullptr && full.executor->parallel_for == nullptr) {
    violations->Add("options.executor has no parallel_for");
  }
  if (full.check_indices != 0 && full.check_indices != 1) {
    violations->Add(Text("options.check_indices is ", full.check_indices, ", expected 0 or 1"));
  }
  return {.backend = NameOrEmpty(full.backend),
          .kernel = NameOrEmpty(full.kernel),
          .instruction_set = NameOrEmpty(full.instruction_set),
          .chunk_size = full.chunk_size,
          .num_threads = full.num_threads,
          .executor = full.executor,
          .check_indices = full.check_indices != 0};
}

template <typename Problem>
void CheckNames(const Options& options, const DeviceFacts& facts,
                const RowLists<Problem>& row_lists, Violations* violations) {
  std::vector<std::string> backends;
  std::vector<std::string> kernels;
  for (const auto& rows : row_lists) {
    for (const Variant<Problem>& row : rows) {
      backends.emplace_back(row.backend);
      // Those of the backend asked for, if it exists.
      if (options.backend.empty() || options.backend == row.backend) kernels.emplace_back(row.name);
    }
  }
  std::vector<std::string> instruction_sets;
  for (const InstructionSet& known : facts.cpu.instruction_sets) {
    instruction_sets.push_back(known.name);
  }
  CheckName("backend", options.backend, backends, violations);
  if (!kernels.empty()) CheckName("kernel", options.kernel, kernels, violations);
  CheckName("instruction_set", options.instruction_set, instruction_sets, violations);
}

template <typename Problem>
Status Choose(const Problem& problem, const Options& options, const DeviceFacts& facts,
              const RowLists<Problem>& row_lists, Choice<Problem>* choice) {
  const char* default_backend = HasFloat64(problem) ? kReferenceBackend : kDefaultBackend;
  const std::string backend = options.backend.empty() ? default_backend : options.backend;
  std::vector<Candidate<Problem>> candidates;
  std::vector<const Variant<Problem>*> rows;
  std::vector<std::string> reasons;  // against the row of the same position; empty: a candidate
  for (const auto& row_list : row_lists) {
    for (const Variant<Problem>& row : row_list) {
      std::string reason = ReasonAgainstByOptions(row, options, backend);
      if (reason.empty()) reason = row.reason_against(problem, facts);
      if (reason.empty()) candidates.push_back({&row, row.cost(problem, facts)});
      rows.push_back(&row);
      reasons.push_back(std::move(reason));
    }
  }
  const auto taken =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const auto& left, const auto& right) { return left.cost < right.cost; });
  choice->rejected.clear();
  for (size_t idx = 0; idx < rows.size(); ++idx) {
    if (taken != candidates.end() && rows[idx] == taken->row) continue;
    if (reasons[idx].empty()) {
      reasons[idx] =
          Text("costs ", rows[idx]->cost(problem, facts), ", not less than ", taken->cost);
    }
    choice->rejected.push_back(Reject(*rows[idx], std::move(reasons[idx])));
  }
  if (taken == candidates.end()) {
    return NoKernel(Operation<Problem>::kName, choice->rejected);
  }
  choice->variant = taken->row;
  choice->schedule = MakeSchedule(*taken->row, problem, options, facts);
  choice->workspace_bytes = taken->row->workspace_bytes(problem, choice->schedule);
  if (choice->workspace_bytes > Carver::kMostBytes) {
    return Status::Unsupported(Text(Operation<Problem>::kName, ": ",
                                    RowText(Reject(*taken->row, "")),
                                    " needs a workspace of more than 2^48 bytes"));
  }
  choice->reason = ReasonFor(candidates, *taken, options, backend);
  return Status();
}

template void CheckNames(const Options&, const DeviceFacts&, const RowLists<ScanForwardProblem>&,
                         Violations*);
template void CheckNames(const Options&, const DeviceFacts&, const RowLists<StateUpdateProblem>&,
                         Violations*);
template void CheckNames(const Options&, const DeviceFacts&,
                         const RowLists<CausalConv1dForwardProblem>&, Violations*);
template void CheckNames(const Options&, const DeviceFacts&,
                         const RowLists<CausalConv1dUpdateProblem>&, Violations*);
template void CheckNames(const Options&, const DeviceFacts&,
                         const RowLists<RmsNormGatedForwardProblem>&, Violations*);
template Status Choose(const ScanForwardProblem&, const Options&, const DeviceFacts&,
                       const RowLists<ScanForwardProblem>&, Choice<ScanForwardProblem>*);
template Status Choose(const StateUpdateProblem&, const Options&, const DeviceFacts&,
                       const RowLists<StateUpdateProblem>&, Choice<StateUpdateProblem>*);
template Status Choose(const CausalConv1dForwardProblem&, const Options&, const DeviceFacts&,
                       const RowLists<CausalConv1dForwardProblem>&,
                       Choice<CausalConv1dForwardProblem>*);
template Status Choose(const CausalConv1dUpdateProblem&, const Options&, const DeviceFacts&,
                       const RowLists<CausalConv1dUpdateProblem>&,
                       Choice<CausalConv1dUpdateProblem>*);
template Status Choose(const RmsNormGatedForwardProblem&, const Options&, const DeviceFacts&,
                       const RowLists<RmsNormGatedForwardProblem>&,
                       Choice<RmsNormGatedForwardProblem>*);

}  // namespace tilescan::plan
