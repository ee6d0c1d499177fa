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
  std::string folder() const { return folder_.path(); }
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
  // Without NumPy it is not even tried.
  EXPECT_THAT(result.output,
              testing::AnyOf(HasSubstr("quack is missing: "),
                             HasSubstr("gpu: missing: quack: python3 has no NumPy")));
  EXPECT_EQ(results["host"].size(), 1U);
  for (const json& host : results["host"]) EXPECT_FALSE(host["benchmarks"].empty());
  std::ifstream report(out() + "/report.md");
  const std::string text{std::istreambuf_iterator<char>(report), {}};
  EXPECT_THAT(text, HasSubstr("**There is no GPU to use: "));
  EXPECT_THAT(text, HasSubstr("| gpu_tests | not run | 0 | no GPU |"));
  EXPECT_TRUE(std::filesystem::exists(out() + "/logs.tar.gz"));
}

/// Programs that stand for ours and NVIDIA's: each says its name and ends as it is told to.
TEST_F(GpuScript, RunsEveryPartWhereThereIsAGpu) {
  const std::filesystem::path stubs = folder() + "/bin";
  std::filesystem::create_directory(stubs);
  const auto stub = [&](const std::string& name, const std::string& script) {
    const std::filesystem::path file = stubs / name;
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  stub("nvidia-smi", "echo 'Some GPU'");
  stub("suite_bench", "echo \"$@\"");
  stub("sinter_gpu_tests", "echo '[  FAILED  ] 1 test'; exit 1");
  stub("digits", "sleep 30");
  stub("compute-sanitizer", "echo \"$@\"");
  const CommandResult result =
      run_command("export SINTER_BIN='" + stubs.string() + "' PATH=\"" + stubs.string() +
                      ":$PATH\"\nbash '" SINTER_SOURCE_DIR "/bench/gpu.sh' '" + out() +
                      "' --only tests sanitizer bench:softmax --seconds 30",
                  std::filesystem::current_path());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  const json results = json::parse(std::ifstream(out() + "/results.json"));
  EXPECT_EQ(results["gpu"], "Some GPU");
  EXPECT_EQ(results["gpu_problem"], "");
  std::map<std::string, json> exits;
  for (const json& step : results["steps"]) exits[step["name"]] = step["exit"];
  const std::map<std::string, json> expected = {
      {"gpu_tests", 1},       {"bench", 0},           {"digits", 124},
      {"memcheck_tests", 0},  {"memcheck_suite", 0},  {"racecheck_tests", 0},
      {"racecheck_suite", 0}, {"initcheck_tests", 0}, {"initcheck_suite", 0}};
  EXPECT_EQ(exits, expected);
  EXPECT_THAT(result.output, HasSubstr("gpu: gpu_tests: exit 1 after "));
  EXPECT_THAT(result.output, HasSubstr(" (stopped after its 2 s)"));
  std::ifstream report(out() + "/report.md");
  const std::string text{std::istreambuf_iterator<char>(report), {}};
  EXPECT_THAT(text, HasSubstr("--tool racecheck --error-exitcode 99"));
  EXPECT_THAT(text, HasSubstr("[  FAILED  ] 1 test"));
}

TEST_F(GpuScript, UnknownPartsAreRefused) {
  const CommandResult result = run("'" + out() + "' --only everything");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("Usage: bench/gpu.sh OUT_DIR [--only PART"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace sinter::test::gpu_script_test
