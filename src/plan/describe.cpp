#include "plan/describe.h"

#include <algorithm>
#include <vector>

#include "plan/build_info.h"
#include "plan/json_writer.h"
#include "plan/split_parts.h"

namespace tilescan::plan {
namespace {

void WriteSizes(const ScanSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("seqlen", sizes.seqlen);
  json->Member("nheads", sizes.nheads);
  json->Member("headdim", sizes.headdim);
  json->Member("ngroups", sizes.ngroups);
  json->Member("dstate", sizes.dstate);
  json->Member("num_seqs", sizes.num_seqs);
}

void WriteSizes(const StateUpdateSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("num_tokens", sizes.num_tokens);
  json->Member("num_slots", sizes.num_slots);
  json->Member("nheads", sizes.nheads);
  json->Member("headdim", sizes.headdim);
  json->Member("ngroups", sizes.ngroups);
  json->Member("dstate", sizes.dstate);
}

void WriteSizes(const CausalConv1dForwardSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("seqlen", sizes.seqlen);
  json->Member("dim", sizes.dim);
  json->Member("width", sizes.width);
  json->Member("num_seqs", sizes.num_seqs);
}

void WriteSizes(const CausalConv1dUpdateSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("num_tokens", sizes.num_tokens);
  json->Member("num_slots", sizes.num_slots);
  json->Member("dim", sizes.dim);
  json->Member("width", sizes.width);
  json->Member("state_len", sizes.state_len);
}

void WriteSizes(const RmsNormGatedForwardSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("seqlen", sizes.seqlen);
  json->Member("dim", sizes.dim);
  json->Member("group_size", sizes.group_size);
}

void WriteSizes(const SplitConv1dScanForwardSizes& sizes, JsonWriter* json) {
  json->Member("batch", sizes.batch);
  json->Member("seqlen", sizes.seqlen);
  json->Member("nheads", sizes.nheads);
  json->Member("headdim", sizes.headdim);
  json->Member("ngroups", sizes.ngroups);
  json->Member("dstate", sizes.dstate);
  json->Member("width", sizes.width);
  json->Member("group_size", sizes.group_size);
  json->Member("num_seqs", sizes.num_seqs);
}

void WriteRejected(const std::vector<Rejected>& rejected, JsonWriter* json) {
  json->Key("rejected");
  json->BeginArray();
  for (const Rejected& row : rejected) {
    json->BeginObject();
    json->Member("backend", row.backend);
    json->Member("kernel", row.kernel);
    json->Member("instruction_set", row.instruction_set);
    json->Member("reason", row.reason);
    json->EndObject();
  }
  json->EndArray();
}

// The members of a plan, in an object that the caller ends: those of the choice, the sizes of the
// whole.
template <typename Problem, typename Sizes>
void WriteChoice(const char* operation, const Choice<Problem>& choice, size_t workspace_bytes,
                 const Sizes& sizes, JsonWriter* json) {
  json->BeginObject();
  json->Member("operation", operation);
  json->Member("backend", choice.variant->backend);
  json->Member("kernel", choice.variant->name);
  json->Member("instruction_set", choice.variant->instruction_set);
  json->Member("chunk_size", choice.schedule.chunk_size);
  json->Member("num_threads", choice.schedule.num_threads);
  json->Member("workspace_bytes", static_cast<int64_t>(workspace_bytes));
  json->Key("sizes");
  json->BeginObject();
  WriteSizes(sizes, json);
  json->EndObject();
  json->Member("reason", choice.reason);
  WriteRejected(choice.rejected, json);
}

template <typename Problem>
void WritePart(const Choice<Problem>& choice, const Problem& problem, JsonWriter* json) {
  WriteChoice(Operation<Problem>::kName, choice, choice.workspace_bytes, problem.sizes, json);
  json->EndObject();
}

template <typename Problem>
std::string Describe(const Planned<Problem>& planned) {
  JsonWriter json;
  WritePart(planned.choice, planned.problem, &json);
  return json.text();
}

std::string Describe(const Planned<SplitConv1dScanForwardProblem>& planned) {
  const SplitParts parts = MakeSplitParts(planned.problem, nullptr);
  JsonWriter json;
  WriteChoice(Operation<SplitConv1dScanForwardProblem>::kName, planned.scan,
              planned.workspace_bytes(), planned.problem.sizes, &json);
  json.Key("parts");
  json.BeginArray();
  WritePart(planned.conv, parts.conv, &json);
  WritePart(planned.scan, parts.scan, &json);
  if (planned.norm.variant != nullptr) WritePart(planned.norm, parts.norm, &json);
  json.EndArray();
  json.EndObject();
  return json.text();
}

void WriteBuild(JsonWriter* json) {
  const BuildInfo& build = GetBuildInfo();
  json->Key("build");
  json->BeginObject();
  json->Member("commit", build.commit);
  json->Member("compiler", build.compiler);
  json->Member("type", build.type);
  json->Member("flags", build.flags);
  json->EndObject();
}

void WriteCpu(const CpuFacts& facts, JsonWriter* json) {
  json->Key("cpu");
  json->BeginObject();
  json->Member("name", facts.name);
  json->Member("num_threads", facts.num_threads);
  json->Member("l1d_cache_bytes", facts.l1d_cache_bytes);
  json->Member("l2_cache_bytes", facts.l2_cache_bytes);
  json->Member("l3_cache_bytes", facts.l3_cache_bytes);
  json->Key("amx");
  json->Boolean(facts.reason_against_amx.empty());
  json->EndObject();
  json->Key("instruction_sets");
  json->BeginArray();
  for (const InstructionSet& instruction_set : facts.instruction_sets) {
    json->BeginObject();
    json->Member("name", instruction_set.name);
    json->Key("available");
    json->Boolean(instruction_set.available);
    json->EndObject();
  }
  json->EndArray();
}

void WriteCuda(const CudaFacts& facts, JsonWriter* json) {
  json->Key("cuda");
  json->BeginObject();
  json->Key("available");
  json->Boolean(facts.reason_against.empty());
  if (!facts.reason_against.empty()) {
    json->Member("reason", facts.reason_against);
  } else {
    json->Member("name", facts.name);
    json->Member("compute_capability", facts.compute_capability);
    json->Member("num_multiprocessors", facts.num_multiprocessors);
    json->Member("memory_bytes", facts.memory_bytes);
    json->Member("l2_cache_bytes", facts.l2_cache_bytes);
    json->Member("driver_version", facts.driver_version);
    json->Member("runtime_version", facts.runtime_version);
  }
  json->EndObject();
}

template <typename Problem>
void WriteKernels(const std::string& backend, const RowLists<Problem>& row_lists,
                  JsonWriter* json) {
  for (const auto& rows : row_lists) {
    for (const Variant<Problem>& row : rows) {
      if (row.backend != backend) continue;
      json->BeginObject();
      json->Member("operation", Operation<Problem>::kName);
      json->Member("kernel", row.name);
      json->Member("instruction_set", row.instruction_set);
      json->Key("is_general");
      json->Boolean(row.is_general);
      json->EndObject();
    }
  }
}

template <typename Problem>
void AddBackends(const RowLists<Problem>& row_lists, std::vector<std::string>* backends) {
  for (const auto& rows : row_lists) {
    for (const Variant<Problem>& row : rows) {
      if (std::find(backends->begin(), backends->end(), row.backend) == backends->end()) {
        backends->emplace_back(row.backend);
      }
    }
  }
}

}  // namespace

std::string DescribePlan(const Plan& plan) {
  return plan.Visit([](const auto& planned) { return Describe(planned); });
}

std::string DescribeLibrary(const DeviceFacts& facts, const AllRowLists& row_lists) {
  const auto for_each_operation = [&row_lists](const auto& visit) {
    std::apply([&visit](const auto&... lists) { (visit(lists), ...); }, row_lists);
  };
  std::vector<std::string> backends;
  for_each_operation([&backends](const auto& lists) { AddBackends(lists, &backends); });
  JsonWriter json;
  json.BeginObject();
  json.Member("version", TILESCAN_VERSION_STRING);
  WriteBuild(&json);
  WriteCpu(facts.cpu, &json);
  WriteCuda(facts.cuda(), &json);
  json.Key("backends");
  json.BeginArray();
  for (const std::string& backend : backends) {
    json.BeginObject();
    json.Member("name", backend);
    json.Key("kernels");
    json.BeginArray();
    for_each_operation([&](const auto& lists) { WriteKernels(backend, lists, &json); });
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.text();
}

}  // namespace tilescan::plan
