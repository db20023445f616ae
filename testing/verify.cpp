#include "testing/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/case_list.h"
#include "testing/changed_slots.h"
#include "testing/error_limits.h"
#include "testing/run.h"
#include "testing/truth.h"

namespace tilescan::testing {
namespace {

// Calls visit(list) for the cases of each operation.
template <typename Visit>
void ForEachList(const Visit& visit) {
  visit(ScanCases());
  visit(StateUpdateCases());
  visit(ConvCases());
  visit(ConvUpdateCases());
  visit(NormCases());
  visit(SplitCases());
}

// Calls visit(case) for the case of this name, if there is one.
template <typename Visit>
void VisitCase(const std::string& name, const Visit& visit) {
  ForEachList([&](const auto& cases) {
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const auto& any_case) { return any_case.name == name; });
    if (found != cases.end()) visit(*found);
  });
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

// What a case wants beyond the general limits.
struct Wishes {
  double max_relative = 0.0;
  int64_t first_token = 0;
};

Wishes WishesOf(const ScanCase& c) { return {c.max_relative, c.first_token}; }
template <typename Case>
Wishes WishesOf(const Case&) {
  return {};
}

int64_t ChunkSizeOf(const ScanCase& c) { return c.chunk_size; }
int64_t ChunkSizeOf(const SplitCase& c) { return c.chunk_size; }
template <typename Case>
int64_t ChunkSizeOf(const Case&) {
  return 0;
}

template <typename Operands>
std::vector<std::pair<const char*, const HostTensor*>> Outputs(const Operands& operands) {
  std::vector<std::pair<const char*, const HostTensor*>> outputs;
  Operands::ForEach(operands, [&](const char* name, const HostTensor& tensor, bool is_output) {
    if (is_output) outputs.emplace_back(name, &tensor);
  });
  return outputs;
}

// One output, and what it is held against.
struct Judged {
  const char* name;
  const HostTensor& got;
  const HostTensor& truth;
  const HostTensor& magnitude;
  const HostTensor& honest;
};

template <typename Operands>
OutputError Measure(const Judged& judged, const Target& target, const Operands& solved,
                    const Wishes& wishes) {
  const HostTensor& got = judged.got;
  OutputError error;
  error.output = judged.name;
  error.comparison = Compare(got, judged.truth, judged.magnitude);
  error.max_relative_limit = GeneralMaxRelative(solved, got.dtype());
  if (error.output == "out" && wishes.max_relative > 0.0) {
    const int64_t token_size = got.num_elements() / std::max<int64_t>(got.shape()[1], 1);
    const int64_t first_idx = wishes.first_token * token_size;
    error.comparison.max_relative =
        Compare(got, judged.truth, judged.magnitude, first_idx).max_relative;
    error.max_relative_limit = wishes.max_relative;
  }
  const Comparison honest = Compare(judged.honest, judged.truth, judged.magnitude);
  error.max_scaled_limit =
      MaxScaledLimit(target, RoundingsOf(target, solved), got.dtype(), honest.max_scaled);
  return error;
}

// What is wrong with an output, or nothing.
std::string Complaint(const Judged& judged, const OutputError& error) {
  const Comparison& comparison = error.comparison;
  std::string complaint;
  const auto complain = [&](const std::string& what) {
    complaint += std::string(judged.name) + " " + what + "; ";
  };
  if (comparison.num_mismatches > 0) {
    const int64_t idx = comparison.first_mismatch_idx;
    complain("is wrongly finite or not in " + std::to_string(comparison.num_mismatches) +
             " elements, the first " + IndexText(judged.got, idx) + ": " +
             Number(judged.got.Get(idx)) + ", expected " + Number(judged.truth.Get(idx)));
  }
  if (!(comparison.max_scaled <= error.max_scaled_limit)) {
    complain("has scaled error " + Number(comparison.max_scaled) + " at " +
             IndexText(judged.got, comparison.worst_idx) + ", expected at most " +
             Number(error.max_scaled_limit));
  }
  if (!(comparison.max_relative <= error.max_relative_limit)) {
    complain("has relative error " + Number(comparison.max_relative) + ", expected at most " +
             Number(error.max_relative_limit));
  }
  return complaint;
}

// The digits that came with the case, against the truth itself.
template <typename Case, typename Operands>
void CheckDigits(const Case& any_case, const Operands& truth, CaseResult* result) {
  for (const ExpectedValue& expected : any_case.expected) {
    for (const auto& [name, tensor] : Outputs(truth)) {
      if (expected.output != name) continue;
      const double value = tensor->Get(expected.idx);
      if (std::fabs(value - expected.value) <= expected.tolerance) continue;
      result->message +=
          "the float64 recurrence disagrees with the digits given: " + expected.output + " is " +
          std::to_string(value) + ", expected " + std::to_string(expected.value) + "; ";
    }
  }
}

// What all outputs of a problem are held against.
template <typename Operands>
struct Yardstick {
  Operands truth;
  Operands magnitudes;
  Operands honest;
};

template <typename Operands>
Yardstick<Operands> MakeYardstick(const Operands& before) {
  return {Truth(before), Magnitudes(before), HonestRun(before)};
}

// That of a named case. A case is mostly run on one target after another, so the last is kept.
template <typename Operands>
const Yardstick<Operands>& YardstickOfCase(const std::string& case_name, const Operands& before) {
  static thread_local std::string kept_name;
  static thread_local Yardstick<Operands> kept;
  if (kept_name != case_name) {
    kept = MakeYardstick(before);
    kept_name = case_name;
  }
  return kept;
}

// Adds each output's error, and what is wrong with it to the message.
template <typename Operands>
void JudgeOutputs(const Operands& solved, const Yardstick<Operands>& yardstick,
                  const Target& target, const Wishes& wishes, CaseResult* result) {
  const auto outputs = Outputs(solved);
  for (size_t idx = 0; idx < outputs.size(); ++idx) {
    if (!outputs[idx].second->present()) continue;
    const Judged judged = {
        outputs[idx].first, *outputs[idx].second, *Outputs(yardstick.truth)[idx].second,
        *Outputs(yardstick.magnitudes)[idx].second, *Outputs(yardstick.honest)[idx].second};
    result->errors.push_back(Measure(judged, target, solved, wishes));
    result->message += Complaint(judged, result->errors.back());
  }
}

template <typename Case>
CaseResult Verify(const Case& any_case, const Target& target, Layout layout) {
  using Operands = decltype(BuildOperands(any_case, layout));
  CaseResult result;
  result.case_name = any_case.name;
  const Operands before = BuildOperands(any_case, layout);
  const Operands operands = WithLayout(before, layout);
  tilescan_options options = target.Options();
  options.chunk_size = ChunkSizeOf(any_case);
  const RunResult run = RunCall(operands, options);
  result.seconds = run.seconds;
  result.message = run.message;
  if (run.status == TILESCAN_UNSUPPORTED) result.outcome = Outcome::kUnsupported;
  if (run.status != TILESCAN_OK) return result;
  if (!run.surroundings_intact) result.message = "wrote outside its outputs or workspace; ";

  const Yardstick<Operands>& yardstick = YardstickOfCase(any_case.name, before);
  CheckDigits(any_case, yardstick.truth, &result);
  result.message += ChangedSlots(before, operands);
  JudgeOutputs(operands, yardstick, target, WishesOf(any_case), &result);
  if (result.message.empty()) result.outcome = Outcome::kPassed;
  return result;
}

}  // namespace

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  ForEachList([&names](const auto& cases) {
    for (const auto& any_case : cases) names.push_back(any_case.name);
  });
  return names;
}

std::string CaseOperation(const std::string& case_name) {
  std::string operation;
  VisitCase(case_name, [&operation](const auto& any_case) {
    operation = decltype(BuildOperands(any_case))::kOperation;
  });
  return operation;
}

std::string CaseAbout(const std::string& case_name) {
  std::string about;
  VisitCase(case_name, [&about](const auto& any_case) { about = any_case.about; });
  return about;
}

template <typename Operands>
std::string Complaints(const Operands& before, const Operands& solved, const Target& target) {
  CaseResult result;
  JudgeOutputs(solved, MakeYardstick(before), target, {}, &result);
  return result.message;
}

template std::string Complaints(const ScanOperands&, const ScanOperands&, const Target&);
template std::string Complaints(const StateUpdateOperands&, const StateUpdateOperands&,
                                const Target&);
template std::string Complaints(const ConvOperands&, const ConvOperands&, const Target&);
template std::string Complaints(const ConvUpdateOperands&, const ConvUpdateOperands&,
                                const Target&);
template std::string Complaints(const NormOperands&, const NormOperands&, const Target&);
template std::string Complaints(const SplitOperands&, const SplitOperands&, const Target&);

CaseResult VerifyCase(const std::string& case_name, const Target& target, Layout layout) {
  CaseResult result;
  result.case_name = case_name;
  result.message = "there is no case of this name";
  VisitCase(case_name, [&](const auto& any_case) { result = Verify(any_case, target, layout); });
  return result;
}

}  // namespace tilescan::testing
