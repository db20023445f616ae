// Result files: what scripts read.
#include "testing/result_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace tilescan::testing {
namespace {

ResultFile ExampleFile() {
  ResultFile file;
  file.environment = DescribeEnvironment(2);
  file.ceilings["copy_gbytes_per_s"] = {20.0, 18.0, 21.0, 5, 1};
  file.implementations["other"] = "1.2, by hand";
  Result result;
  result.case_name = "mamba2-2.7b/2048";
  result.operation = "scan_forward";
  result.implementation = "tilescan";
  result.dtype = "bfloat16";
  result.state_dtype = "float32";
  result.timing = {10.5, 10.0, 12.0, 9, 0};
  result.error_out = 1e-7;
  result.kernel = "cpu/chunked/avx2";
  result.ratio = RoundRatio{"other", 2.0, 1.5, 2.5};
  result.figures["gflops"] = 123.0;
  file.results.push_back(result);
  return file;
}

TEST(ResultFile, HasTheFieldsThatScriptsRead) {
  const auto json = nlohmann::json::parse(ResultFileText(ExampleFile()));
  const auto& environment = json.at("environment");
  EXPECT_EQ(environment.at("device"), "cpu");
  EXPECT_EQ(environment.at("threads"), 2);
  for (const char* name : {"driver", "cpu", "commit", "date"}) {
    EXPECT_FALSE(environment.at(name).get<std::string>().empty()) << name;
  }
  EXPECT_EQ(environment.at("ceilings").at("copy_gbytes_per_s").at("median"), 20.0);
  EXPECT_EQ(environment.at("implementations").at("other"), "1.2, by hand");

  ASSERT_EQ(json.at("results").size(), 1u);
  const auto& result = json.at("results").at(0);
  EXPECT_EQ(result.at("case"), "mamba2-2.7b/2048");
  EXPECT_EQ(result.at("operation"), "scan_forward");
  EXPECT_EQ(result.at("implementation"), "tilescan");
  EXPECT_EQ(result.at("dtype"), "bfloat16");
  EXPECT_EQ(result.at("state_dtype"), "float32");
  EXPECT_EQ(result.at("median_us"), 10.5);
  EXPECT_EQ(result.at("min_us"), 10.0);
  EXPECT_EQ(result.at("max_us"), 12.0);
  EXPECT_EQ(result.at("repeats"), 9);
  EXPECT_EQ(result.at("mode"), "short");
  EXPECT_EQ(result.at("error_out"), 1e-7);
  EXPECT_TRUE(result.at("error_state").is_null()) << "not measured";
  EXPECT_TRUE(result.at("peak_bytes").is_null()) << "not measured";
  EXPECT_EQ(result.at("kernel"), "cpu/chunked/avx2");
  EXPECT_EQ(result.at("precise"), false);
  EXPECT_EQ(result.at("ratio").at("against"), "other");
  EXPECT_EQ(result.at("ratio").at("median"), 2.0);
  EXPECT_EQ(result.at("gflops"), 123.0);
}

TEST(ResultFile, IsWrittenWhole) {
  const std::string path = ::testing::TempDir() + "result_file_test.json";
  const ResultFile file = ExampleFile();
  EXPECT_EQ(WriteResultFile(file, path), "");
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_EQ(text.str(), ResultFileText(file));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  std::remove(path.c_str());
}

TEST(ResultFile, SaysWhyItIsNotWritten) {
  const std::string message = WriteResultFile(ExampleFile(), "/no/such/folder/results.json");
  EXPECT_NE(message.find("/no/such/folder/results.json"), std::string::npos) << message;
  EXPECT_NE(message.find("No such file or directory"), std::string::npos) << message;
}

TEST(Environment, IsOfThisMachine) {
  const Environment environment = DescribeEnvironment(0);
  EXPECT_GE(environment.num_processors, 1);
  EXPECT_EQ(environment.num_threads, environment.num_processors);
  EXPECT_FALSE(environment.instruction_set.empty());
  EXPECT_EQ(environment.date.size(), std::string("2026-11-30T08:15:00Z").size());
}

}  // namespace
}  // namespace tilescan::testing
