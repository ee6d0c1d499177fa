// bench/gpu.sh on a machine where no GPU can be used: it ends, says what is missing, and writes
// what a GPU machine would get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/process.h"
#include "tests/support/command.h"
#include "tests/support/scratch_folder.h"

namespace sinter::test::gpu_script_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class GpuScript : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  }

  CommandResult run(const std::string& arguments) const {
    return run_command("export CUDA_VISIBLE_DEVICES= SINTER_BIN='" +
                           command_path().parent_path().string() +
                           "'\nbash '" SINTER_SOURCE_DIR "/bench/gpu.sh' " + arguments,
                       std::filesystem::current_path());
  }
  std::string out() const { return folder_.path() + "/out"; }

 private:
  ScratchFolder folder_;
};

TEST_F(GpuScript, SaysWhatIsMissingWithoutAGpu) {
  const CommandResult result =
      run("'" + out() + "' --only tests bench:softmax peers:quack host:record --seconds 60");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("gpu: there is no GPU to use: "));
  const json results = json::parse(std::ifstream(out() + "/results.json"));
  EXPECT_NE(results["gpu_problem"], "");
  EXPECT_EQ(results["parts"], json({"tests", "bench:softmax", "peers:quack", "host:record"}));
  std::map<std::string, json> steps;
  for (const json& step : results["steps"]) steps[step["name"]] = step;
  for (const char* const name : {"gpu_tests", "digits", "bench"}) {
    EXPECT_EQ(steps[name]["exit"], json()) << name;
    EXPECT_EQ(steps[name]["note"], "no GPU") << name;
  }
  EXPECT_THAT(steps["quack"]["note"].get<std::string>(), HasSubstr("quack is missing: "));
  EXPECT_EQ(results["host"].size(), 1U);
  for (const json& host : results["host"]) EXPECT_FALSE(host["benchmarks"].empty());
  std::ifstream report(out() + "/report.md");
  const std::string text{std::istreambuf_iterator<char>(report), {}};
  EXPECT_THAT(text, HasSubstr("**There is no GPU to use: "));
  EXPECT_THAT(text, HasSubstr("| gpu_tests | not run | 0 | no GPU |"));
  EXPECT_TRUE(std::filesystem::exists(out() + "/logs.tar.gz"));
}

TEST_F(GpuScript, UnknownPartsAreRefused) {
  const CommandResult result = run("'" + out() + "' --only everything");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("Usage: bench/gpu.sh OUT_DIR [--only PART"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace sinter::test::gpu_script_test
