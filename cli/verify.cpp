// tilescan verify: named cases on every backend and instruction set of the machine, each output
// against the float64 recurrence.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/error.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "testing/target.h"
#include "testing/verify.h"

namespace tilescan::cli {
namespace {

using Json = nlohmann::ordered_json;
using testing::CaseResult;
using testing::Outcome;
using testing::Target;

struct VerifyFlags {
  std::string backend;
  std::string instruction_set;
  std::string filter;
  int32_t num_threads = 0;
  std::string json_path;
};

struct Job {
  std::string case_name;
  Target target;
};

struct Counts {
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t unsupported = 0;
};

std::vector<Job> Jobs(const VerifyFlags& flags) {
  std::vector<Job> jobs;
  for (const std::string& case_name : testing::CaseNames()) {
    if (case_name.find(flags.filter) == std::string::npos) continue;
    for (Target target : testing::AllTargets(testing::CaseOperation(case_name))) {
      if (!flags.backend.empty() && target.backend != flags.backend) continue;
      if (!flags.instruction_set.empty() && target.instruction_set != flags.instruction_set) {
        continue;
      }
      target.num_threads = flags.num_threads;
      jobs.push_back({case_name, target});
    }
  }
  return jobs;
}

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kUnsupported:
      return "unsupported";
  }
  return "failed";
}

void Count(Outcome outcome, Counts* counts) {
  switch (outcome) {
    case Outcome::kPassed:
      ++counts->passed;
      return;
    case Outcome::kFailed:
      ++counts->failed;
      return;
    case Outcome::kUnsupported:
      ++counts->unsupported;
      return;
  }
}

// The error, and how much of the nearer of its two limits it takes.
std::string ErrorsText(const testing::OutputError& error) {
  const testing::Comparison& comparison = error.comparison;
  const double part_of_limit = std::max(comparison.max_relative / error.max_relative_limit,
                                        comparison.max_scaled / error.max_scaled_limit);
  return Concat(" ", error.output, " ", ErrorText(comparison.relative_l2), " (",
                FigureText(100.0 * part_of_limit), " % of the limit);");
}

std::string ResultText(const Job& job, const CaseResult& result) {
  std::string text = OutcomeName(result.outcome);
  text.resize(12, ' ');
  text += Concat(job.case_name, " on ", job.target.Name(), ":");
  for (const testing::OutputError& error : result.errors) text += ErrorsText(error);
  if (text.back() == ';') text.pop_back();
  if (!result.message.empty()) text += " " + result.message;
  return text + "\n";
}

Json ResultJson(const Job& job, const CaseResult& result) {
  Json errors = Json::array();
  for (const testing::OutputError& error : result.errors) {
    const testing::Comparison& comparison = error.comparison;
    errors.push_back({{"output", error.output},
                      {"relative_l2", comparison.relative_l2},
                      {"max_abs", comparison.max_abs},
                      {"max_relative", comparison.max_relative},
                      {"max_relative_limit", error.max_relative_limit},
                      {"max_scaled", comparison.max_scaled},
                      {"max_scaled_limit", error.max_scaled_limit},
                      {"num_mismatches", comparison.num_mismatches}});
  }
  return {{"case", job.case_name},
          {"about", testing::CaseAbout(job.case_name)},
          {"operation", testing::CaseOperation(job.case_name)},
          {"backend", job.target.backend},
          {"kernel", job.target.kernel},
          {"instruction_set", job.target.instruction_set},
          {"outcome", OutcomeName(result.outcome)},
          {"message", result.message},
          {"seconds", result.seconds},
          {"errors", std::move(errors)}};
}

int Verify(const VerifyFlags& flags) {
  const std::vector<Job> jobs = Jobs(flags);
  Counts counts;
  Json results = Json::array();
  {
    Progress progress(static_cast<int64_t>(jobs.size()));
    for (const Job& job : jobs) {
      progress.Step(Concat(job.case_name, " on ", job.target.Name()));
      const CaseResult result = testing::VerifyCase(job.case_name, job.target);
      Count(result.outcome, &counts);
      results.push_back(ResultJson(job, result));
      if (flags.json_path == "-") continue;
      progress.Clear();
      std::cout << ResultText(job, result) << std::flush;
    }
  }
  const Json report = {{"passed", counts.passed},
                       {"failed", counts.failed},
                       {"unsupported", counts.unsupported},
                       {"results", std::move(results)}};
  if (!flags.json_path.empty()) WriteTextFile(flags.json_path, JsonText(report));
  if (flags.json_path != "-") {
    std::cout << counts.passed << " passed, " << counts.failed << " failed, " << counts.unsupported
              << " unsupported\n";
  }
  if (counts.failed > 0) return kExitCheckFailed;
  // A name that fits nothing must not look like a success.
  if (counts.passed == 0) {
    throw Error(Concat("verify: nothing was verified: ", jobs.size(),
                       " cases fit --filter, --backend and --instruction-set"));
  }
  return kExitOk;
}

}  // namespace

Command AddVerifyCommand(CLI::App* parent) {
  CLI::App* app = parent->add_subcommand(
      "verify", "Check named cases on every backend and instruction set against the recurrence");
  const auto flags = std::make_shared<VerifyFlags>();
  app->add_option("--backend", flags->backend, "This backend only")->type_name("NAME");
  app->add_option("--instruction-set", flags->instruction_set, "This instruction set only")
      ->type_name("NAME");
  app->add_option("--filter", flags->filter, "Cases whose name contains this")->type_name("TEXT");
  app->add_option("--threads", flags->num_threads, "CPU threads; 0: all")
      ->type_name("N")
      ->check(AtLeast(0));
  AddJsonFlag(app, &flags->json_path);
  app->footer(
      "Each case is run on each backend, kernel and instruction set of this machine, and every\n"
      "output compared with the recurrence in float64. Shown is the relative L2 error, and how "
      "much\n"
      "of its limits the largest error of an element takes. Exit code 1 if a case fails.\n"
      "Examples:\n"
      "  tilescan verify\n"
      "  tilescan verify --backend cpu --filter float32\n"
      "  tilescan verify --json verify.json");
  return {app, [flags] { return Verify(*flags); }};
}

}  // namespace tilescan::cli
