// The JSON texts: read back by a JSON parser.
#include "plan/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/json_writer.h"
#include "tests/unit/example_rows.h"

namespace tilescan::plan {
namespace {

using nlohmann::json;

TEST(JsonWriter, EscapesWhatJsonCannotHold) {
  JsonWriter writer;
  writer.String("a \"quote\", a \\, a tab\t, a zero\0, \x7f, an umlaut \xe4" +
                std::string(1, '\0'));
  const json parsed = json::parse(writer.text());
  EXPECT_EQ(parsed.get<std::string>().find("a \"quote\", a \\, a tab\t"), 0u);
}

TEST(JsonWriter, ReadsBytesBeyondAsciiAsLatin1) {
  JsonWriter writer;
  writer.String("\xe4\x7f");
  EXPECT_EQ(writer.text(), "\"\\u00e4\\u007f\"");
}

TEST(JsonWriter, NestsObjectsAndArrays) {
  JsonWriter writer;
  writer.BeginObject();
  writer.Key("empty");
  writer.BeginArray();
  writer.EndArray();
  writer.Key("list");
  writer.BeginArray();
  writer.Integer(-1);
  writer.Boolean(true);
  writer.BeginObject();
  writer.EndObject();
  writer.EndArray();
  writer.Member("largest", std::numeric_limits<int64_t>::max());
  writer.EndObject();
  EXPECT_EQ(writer.text(),
            "{\"empty\": [], \"list\": [-1, true, {}], \"largest\": 9223372036854775807}");
}

TEST(DescribePlan, NamesEverythingOfAScan) {
  std::unique_ptr<const Plan> plan;
  ASSERT_TRUE(MakePlan<ScanForwardProblem>(ExamplePacked(), nullptr, ExampleFacts(),
                                           ExampleRows<ScanForwardProblem>(), &plan)
                  .ok());
  const json described = json::parse(DescribePlan(*plan));
  const json expected = {{"operation", "scan_forward"},
                         {"backend", "cpu"},
                         {"kernel", "chunked"},
                         {"instruction_set", "avx2"},
                         {"chunk_size", 48},
                         {"num_threads", 8},
                         {"workspace_bytes", 1008},
                         {"sizes",
                          {{"batch", 1},
                           {"seqlen", 12},
                           {"nheads", 6},
                           {"headdim", 8},
                           {"ngroups", 3},
                           {"dstate", 5},
                           {"num_seqs", 3}}},
                         {"reason", "the default backend; cost 2, the least of 3"},
                         {"rejected",
                          {{{"backend", "cpu"},
                            {"kernel", "chunked"},
                            {"instruction_set", "scalar"},
                            {"reason", "costs 4, not less than 2"}},
                           {{"backend", "cpu"},
                            {"kernel", "stepwise"},
                            {"instruction_set", "avx2"},
                            {"reason", "costs 3, not less than 2"}},
                           {{"backend", "reference"},
                            {"kernel", "recurrence"},
                            {"instruction_set", ""},
                            {"reason", "the backend is cpu"}}}}};
  EXPECT_EQ(described, expected);
}

TEST(DescribePlan, NamesTheSizesOfAStateUpdate) {
  std::unique_ptr<const Plan> plan;
  ASSERT_TRUE(MakePlan<StateUpdateProblem>(ExampleStateUpdateTokens(), nullptr, ExampleFacts(),
                                           ExampleRows<StateUpdateProblem>(), &plan)
                  .ok());
  const json described = json::parse(DescribePlan(*plan));
  EXPECT_EQ(described["operation"], "state_update");
  EXPECT_EQ(described["sizes"], (json{{"batch", 2},
                                      {"num_tokens", 4},
                                      {"num_slots", 7},
                                      {"nheads", 6},
                                      {"headdim", 8},
                                      {"ngroups", 3},
                                      {"dstate", 5}}));
}

template <typename Problem, typename Args>
json SizesOf(const Args& args) {
  Planned<Problem> planned;
  planned.problem = ProblemOf(args);
  planned.choice.variant = &ExampleRows<Problem>()[0][0];
  return json::parse(DescribePlan(Plan(planned)))["sizes"];
}

TEST(DescribePlan, SaysTheSizesOfOperationsAroundTheScan) {
  EXPECT_EQ(SizesOf<CausalConv1dForwardProblem>(ExampleConv()),
            (json{{"batch", 2}, {"seqlen", 12}, {"dim", 6}, {"width", 4}, {"num_seqs", 2}}));
  EXPECT_EQ(SizesOf<CausalConv1dUpdateProblem>(ExampleConvUpdate()), (json{{"batch", 2},
                                                                           {"num_tokens", 3},
                                                                           {"num_slots", 7},
                                                                           {"dim", 6},
                                                                           {"width", 4},
                                                                           {"state_len", 5}}));
  EXPECT_EQ(SizesOf<RmsNormGatedForwardProblem>(ExampleNorm()),
            (json{{"batch", 2}, {"seqlen", 12}, {"dim", 6}, {"group_size", 3}}));
}

TEST(DescribeLibrary, NamesBuildMachineAndKernels) {
  const json described = json::parse(DescribeLibrary(ExampleFacts(), ExampleRowsOfAll()));
  EXPECT_EQ(described["version"], TILESCAN_VERSION_STRING);
  for (const char* key : {"commit", "compiler", "type"}) {
    EXPECT_FALSE(described["build"][key].get<std::string>().empty()) << key;
  }
  EXPECT_TRUE(described["build"]["flags"].is_string());
  EXPECT_EQ(described["cpu"], (json{{"name", "Example \"processor\""},
                                    {"num_threads", 8},
                                    {"l1d_cache_bytes", 32768},
                                    {"l2_cache_bytes", 0},
                                    {"l3_cache_bytes", 0},
                                    {"amx", false}}));
  EXPECT_EQ(described["instruction_sets"], (json{{{"name", "scalar"}, {"available", true}},
                                                 {{"name", "avx2"}, {"available", true}},
                                                 {{"name", "avx512"}, {"available", false}}}));
  ASSERT_EQ(described["backends"].size(), 2u);
  EXPECT_EQ(described["backends"][0]["name"], "cpu");
  EXPECT_EQ(described["backends"][0]["kernels"].size(), 15u);
  json kernels = json::array();
  for (const char* operation : {"scan_forward", "state_update", "causal_conv1d_forward",
                                "causal_conv1d_update", "rms_norm_gated_forward"}) {
    kernels.push_back({{"operation", operation},
                       {"kernel", "recurrence"},
                       {"instruction_set", ""},
                       {"is_general", true}});
  }
  EXPECT_EQ(described["backends"][1], (json{{"name", "reference"}, {"kernels", kernels}}));
  EXPECT_EQ(described["cuda"], (json{{"available", false}, {"reason", "an example has no GPU"}}));
}

TEST(DescribeLibrary, NamesTheGpu) {
  DeviceFacts facts = ExampleFacts();
  facts.cuda = []() -> const CudaFacts& {
    static const CudaFacts gpu = {.reason_against = "",
                                  .name = "Example GPU",
                                  .compute_capability = 90,
                                  .num_multiprocessors = 132,
                                  .memory_bytes = 1 << 30,
                                  .l2_cache_bytes = 1 << 20,
                                  .driver_version = 13000,
                                  .runtime_version = 13050};
    return gpu;
  };
  const json described = json::parse(DescribeLibrary(facts, ExampleRowsOfAll()));
  EXPECT_EQ(described["cuda"], (json{{"available", true},
                                     {"name", "Example GPU"},
                                     {"compute_capability", 90},
                                     {"num_multiprocessors", 132},
                                     {"memory_bytes", 1 << 30},
                                     {"l2_cache_bytes", 1 << 20},
                                     {"driver_version", 13000},
                                     {"runtime_version", 13050}}));
}

}  // namespace
}  // namespace tilescan::plan
