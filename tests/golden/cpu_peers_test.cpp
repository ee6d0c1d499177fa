// The cases of bench/cpu_peers, and sinter's worker among the peers. Checks its answers and results
// on the host device, but no times.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::cpu_peers_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CpuPeers : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty() || !std::filesystem::exists(program("cpu_peer")))
      GTEST_SKIP() << "this build has no benchmarks";
    if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
    const CommandResult written = run_command(
        "python3 -B '" SINTER_SOURCE_DIR "/bench/cpu_peers/cases.py' '" + path("suite.json") + "'",
        std::filesystem::current_path());
    ASSERT_EQ(written.exit_code, 0) << written.output;
  }

  static std::filesystem::path program(const std::string& name) {
    return command_path().parent_path() / name;
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// The worker's answers to `commands`, after its greeting.
  std::vector<json> answers(const std::string& commands) const {
    std::ofstream(path("commands")) << commands;
    const CommandResult result =
        run_command("'" + program("cpu_peer").string() + "' '" + path("suite.json") + "' 2 < '" +
                        path("commands") + "'",
                    std::filesystem::current_path());
    EXPECT_EQ(result.exit_code, 0) << result.output;
    std::vector<json> lines;
    std::istringstream text(result.output);
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    EXPECT_TRUE(!lines.empty() && lines[0].contains("version")) << result.output;
    if (!lines.empty()) lines.erase(lines.begin());
    return lines;
  }

  std::vector<float> floats(const std::string& name) const {
    const std::string text = read_text(path(name));
    std::vector<float> values(text.size() / sizeof(float));
    std::memcpy(values.data(), text.data(), values.size() * sizeof(float));
    return values;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(CpuPeers, EveryCaseMovesItsStatedBytes) {
  for (const std::string tier : {"tiny", "full"}) {
    const CommandResult result =
        run_command(fmt::format("'{}' --suite '{}' --list --tier {}",
                                program("suite_bench").string(), path("suite.json"), tier),
                    std::filesystem::current_path());
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr("maximum_chain30_bf16_"));
  }
}

TEST_F(CpuPeers, TheWorkerRunsCasesAndWritesInputsAndResults) {
  const std::vector<json> found = answers(fmt::format(
      R"({{"do": "prepare", "case": "gelu_f32_tiny"}}
{{"do": "results", "folder": "{}"}}
{{"do": "time", "calls": 3}}
{{"do": "release"}}
)",
      path("")));
  ASSERT_EQ(found.size(), 4U);
  for (const json& answer : found) EXPECT_FALSE(answer.contains("status")) << answer;
  EXPECT_GT(found[2].at("us"), 0);
  const std::vector<float> x = floats("x"), y = floats("y");
  ASSERT_EQ(y.size(), 1003U);
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], x[i] / 2 * (1 + std::erf(x[i] / std::sqrt(2.0F))), 1e-6F) << x[i];
}

TEST_F(CpuPeers, TheWorkerReportsUnknownCasesAndGoesOn) {
  const std::vector<json> found = answers(
      R"({"do": "prepare", "case": "gelu_f64"}
{"do": "prepare", "case": "full_sum_f32_tiny"}
)");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("status"), "failed");
  EXPECT_THAT(found[0].at("reason").get<std::string>(),
              HasSubstr("the suite has no case gelu_f64; its cases begin with "));
  EXPECT_FALSE(found[1].contains("status")) << found[1];
}

}  // namespace
}  // namespace sinter::test::cpu_peers_test
