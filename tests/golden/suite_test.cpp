// The benchmark suite of sinter and its peers, and the program that measures sinter. Checks its
// counts and the form of its output on the host device, but no times.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/suite/timing.h"
#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::suite_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SuiteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty() || !std::filesystem::exists(program()))
      GTEST_SKIP() << "this build has no benchmarks";
  }

  static std::filesystem::path program() { return command_path().parent_path() / "suite_bench"; }
  CommandResult run(const std::string& arguments) const {
    return run_command("'" + program().string() +
                           "' --suite '" SINTER_SOURCE_DIR "/bench/suite/suite.json' " + arguments,
                       std::filesystem::current_path());
  }
  json read(const std::string& name) const { return json::parse(std::ifstream(path(name))); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  ScratchFolder folder_;
};

TEST_F(SuiteTest, EveryCaseMovesItsStatedBytes) {
  for (const std::string tier : {"tiny", "quick", "full", "sweep"}) {
    const CommandResult result = run("--list --tier " + tier);
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
}

TEST_F(SuiteTest, AWrongNumberOfBytesIsReported) {
  json suite = json::parse(std::ifstream(SINTER_SOURCE_DIR "/bench/suite/suite.json"));
  suite["cases"][0]["bytes"] = 17;
  std::ofstream(path("wrong.json")) << suite;
  const CommandResult result = run("--list --tier tiny --suite '" + path("wrong.json") + "'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr(" 17 bytes, but its graph moves at least 8024"));
}

TEST_F(SuiteTest, MeasuresEveryModeAndWritesResults) {
  const CommandResult result =
      run("--device host --tier tiny --only layer_norm_f32,adamw_f32,latency5_f32 --json '" +
          path("results.json") + "'");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json results = read("results.json");
  EXPECT_EQ(results["schema"], "sinter-bench-1");
  EXPECT_EQ(results["device"], "host device");
  std::map<std::string, std::string> modes;
  for (const json& row : results["rows"]) {
    modes[row["case"]] += row["mode"].get<std::string>();
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_LE(row["worst_error"], 1.0) << row;
    EXPECT_GT(row["judged_elements"], 0) << row;
    const bool is_fused = row["case"] != "latency5_f32_tiny";
    EXPECT_EQ(row["kernels"], is_fused ? 1 : 5) << row;
    if (is_fused) {
      EXPECT_EQ(row["planned_bytes"], row["bytes"]) << row;
    }
    for (const char* const times : {"us", "copy_us", "memcpy_us"})
      EXPECT_GT(row[times]["median"], 0.0) << row;
    EXPECT_EQ(row["asynchronous_us"].is_null(), row["mode"] != "E") << row;
  }
  const std::map<std::string, std::string> expected = {
      {"layer_norm_f32_tiny", "KLEE"}, {"adamw_f32_tiny", "KLEE"}, {"latency5_f32_tiny", "KLEE"}};
  EXPECT_EQ(modes, expected);
}

TEST_F(SuiteTest, CasesPastTheTimeLimitAreNamed) {
  const CommandResult result = run(
      "--device host --tier tiny --only add_f32 --seconds 1e-9 --json '" + path("none.json") + "'");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const json row = read("none.json")["rows"][0];
  EXPECT_EQ(row["status"], "not_run");
  EXPECT_EQ(row["reason"], "the limit of 1e-09 s was reached");
}

TEST_F(SuiteTest, AnInterruptedRunContinues) {
  const std::string chosen = "--device host --tier tiny --only dot_f32,full_sum_f32,full_max_f32 ";
  const std::string all = run(chosen + "--list").output;
  const std::string first = all.substr(0, all.find(' '));
  const CommandResult result = run(chosen + "--list --after " + first);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, all.substr(all.find('\n') + 1));
  EXPECT_THAT(
      run(chosen + "--after scale_f32_tiny").output,
      HasSubstr("--after scale_f32_tiny: it is not one of the 3 chosen cases; --list shows"));
}

/// The stored results that check the formulas of peers equal those of the oracle today.
TEST_F(SuiteTest, TheOraclesNumbersAreFresh) {
  const std::string kept = SINTER_SOURCE_DIR "/bench/suite/tiny_oracle.json";
  const bool bless = std::getenv("SINTER_BLESS") != nullptr;
  const std::string written = bless ? kept : path("oracle.json");
  ASSERT_EQ(run("--oracle '" + written + "'").exit_code, 0);
  const json now = json::parse(std::ifstream(written));
  const json before = json::parse(std::ifstream(kept));
  ASSERT_EQ(now.size(), before.size()) << "SINTER_BLESS=1 accepts what the oracle says now";
  for (const auto& [name, results] : now.items())
    for (const auto& [result, values] : results.items())
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i].get<double>();
        EXPECT_NEAR(value, before.at(name).at(result).at(i).get<double>(),
                    1e-6 * std::abs(value) + 1e-12)
            << name << " " << result << "; SINTER_BLESS=1 accepts what the oracle says now";
      }
}

TEST_F(SuiteTest, MistakesAreReported) {
  const CommandResult option = run("--fast");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.output, HasSubstr("The following argument was not expected: --fast"));
  const CommandResult nothing = run("--device host --only none_is_called_so");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output,
              HasSubstr("no case of tier quick was chosen; --list shows the cases"));
  const CommandResult file = run("--suite /no/suite.json --list");
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_THAT(file.output, HasSubstr("suite_bench: the suite /no/suite.json cannot be read"));
}

/// suite.json is up to date with ops.py and cases.py.
TEST(SuiteFileTest, MatchesItsSources) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  const CommandResult result =
      run_command("python3 -B '" SINTER_SOURCE_DIR "/bench/suite/make_suite.py' --check",
                  std::filesystem::current_path());
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

/// Otherwise the host time of launching a graph would count as time of its kernels.
TEST(TimingTest, WorkIsTimedAfterTheSameWork) {
  std::string order;
  struct Timer {
    void start() { order += " start"; }
    double stop_us() {
      order += " stop";
      return 5;
    }
    std::string& order;
  } timer{order};
  EXPECT_EQ(suite::busy_us(timer, [&] { order += " work"; }), 5);
  EXPECT_EQ(order, " work start work stop");
}

constexpr const char* kResults = SINTER_SOURCE_DIR "/tests/golden/compare";

TEST(CompareTest, SetsResultsSideBySide) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  const CommandResult result = run_command(
      "python3 -B '" SINTER_SOURCE_DIR "/bench/compare' sinter.json peer.json", kResults);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  expect_golden(std::string(kResults) + "/tables.md", result.output);
}

/// Each result is from a call of gpu.sh for one part. A stopped program leaves null.
TEST(CompareTest, ReadsResultsOfGpuSh) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  const ScratchFolder folder;
  for (const char* const name : {"sinter", "peer"}) {
    const json one = json::parse(std::ifstream(fmt::format("{}/{}.json", kResults, name)));
    std::ofstream(fmt::format("{}/{}.json", folder.path(), name))
        << json{{"schema", "sinter-gpu-1"}, {"results", {one, nullptr}}};
  }
  const CommandResult result = run_command(
      "python3 -B '" SINTER_SOURCE_DIR "/bench/compare' sinter.json peer.json", folder.path());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, read_text(std::string(kResults) + "/tables.md"));
}

TEST(CompareTest, MistakesAreReported) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  const std::string compare = "python3 -B '" SINTER_SOURCE_DIR "/bench/compare' ";
  EXPECT_THAT(run_command(compare + "tables.md", kResults).output,
              HasSubstr("compare: tables.md: Expecting value"));
  const CommandResult nothing = run_command(compare, kResults);
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.output, HasSubstr("give results files, or --against and a baseline"));
  const CommandResult command =
      run_command(compare + "--against . --sinter /no/sinter --only add_f32_64MiB", kResults);
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.output, HasSubstr("compare: [Errno 2] No such file or directory: "));
}

}  // namespace
}  // namespace sinter::test::suite_test
