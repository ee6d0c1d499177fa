// `sinter bench`: the suites in the folder of the command, and graphs timed end to end.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter::test::bench_command_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/command";

/// A copy of the command in an empty folder.
class BenchCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    fs::copy_file(command_path(), folder_.path() + "/sinter");
  }

  void add_suite(const std::string& name, const std::string& script) const {
    const fs::path path = folder_.path() + "/" + name + "_bench";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  CommandResult run(const std::string& words) const {
    return run_command("./sinter bench " + words, folder_.path());
  }

  ScratchFolder folder_;
};

TEST_F(BenchCommand, ListsTheSuitesInItsFolder) {
  EXPECT_EQ(run("").output, "there are no suites in the command's folder\n");
  add_suite("plan", "");
  add_suite("launch", "");
  std::ofstream(folder_.path() + "/notes_bench") << "no program";
  EXPECT_EQ(run("").output, "launch\nplan\n");
  EXPECT_EQ(nlohmann::json::parse(run("--json").output)["suites"],
            (nlohmann::json{"launch", "plan"}));
}

TEST_F(BenchCommand, PassesItsArgumentsToASuite) {
  add_suite("plan", "echo \"words: $*\"");
  EXPECT_EQ(run("plan").output, "words: \n");
  EXPECT_EQ(run("plan --json --filter chain").output,
            "words: --benchmark_format=json --benchmark_filter=chain\n");
  add_suite("suite", "echo \"words: $*\"");
  EXPECT_EQ(run("suite --json --filter softmax").output, "words: --json=- --only=softmax\n");
}

TEST_F(BenchCommand, ReportsFailedAndMissingSuites) {
  CommandResult result = run("plan");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output,
            "sinter: there is neither a file plan nor a suite of this name; there are no suites "
            "in the command's folder: build plan_bench\n");
  add_suite("plan", "exit 3");
  add_suite("launch", "kill -9 $$");
  result = run("cache");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output,
            "sinter: there is neither a file cache nor a suite of this name; the suites are "
            "launch, plan\n");
  result = run("plan");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output,
            "sinter: suite plan failed: " + folder_.path() + "/plan_bench ended with 3\n");
  EXPECT_NE(run("launch").output.find("launch_bench ended with 137"), std::string::npos);
}

TEST_F(BenchCommand, TimesAGraph) {
  const std::string graph = std::string(kFolder) + "/add.sinter --device host --repeats 2";
  const CommandResult text = run(graph);
  EXPECT_EQ(text.exit_code, 0);
  for (const char* const words :
       {"add on host device\nrun ", "\nreplay ", " us back to back\n", "\nkernel ", "of copy"})
    EXPECT_NE(text.output.find(words), std::string::npos) << words << "\n" << text.output;
  const nlohmann::json json = nlohmann::json::parse(run(graph + " --json").output);
  for (const char* const way : {"run", "replay"}) {
    EXPECT_GT(json[way]["median_us"], 0.0);
    EXPECT_GT(json[way]["back_to_back_us"], 0.0);
    EXPECT_LE(json[way]["lower_quartile_us"], json[way]["upper_quartile_us"]);
  }
  EXPECT_EQ(json["kernels"]["kernels"].size(), 1U);
}

}  // namespace
}  // namespace sinter::test::bench_command_test
