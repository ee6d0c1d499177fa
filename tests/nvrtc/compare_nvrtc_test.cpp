// bench/compare with its baseline: the figures of the suite's kernels for sm_90, and the report of
// a worse figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/compile/nvrtc.h"
#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::compare_nvrtc_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kBaseline = SINTER_SOURCE_DIR "/bench/baseline";

class CompareNvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
    if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  }

  static CommandResult compare(const std::string& baseline) {
    return run_command("python3 -B '" SINTER_SOURCE_DIR "/bench/compare' --against '" + baseline +
                           "' --sinter '" + command_path().string() +
                           "' --tier full --only full_sum_f32_2^24,add_f32_64MiB,"
                           "cross_entropy_bf16_32768x1024,pattern_softmax_256",
                       std::filesystem::current_path(), CommandNvrtc::machine);
  }
};

TEST_F(CompareNvrtcTest, NoFigureIsWorseThanInTheBaseline) {
  const CommandResult result = compare(kBaseline);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("4 cases compared, registers known for 4; no figure is more "
                                       "than 10 % worse than in "));
}

TEST_F(CompareNvrtcTest, ReportsWorseFigures) {
  json baseline = json::parse(std::ifstream(std::string(kBaseline) + "/kernels.json"));
  json& add = baseline["cases"]["add_f32_64MiB"];
  const auto bytes = add["bytes"].get<std::int64_t>();
  add["bytes"] = bytes / 2;
  add["registers"] = 200;
  const ScratchFolder folder;
  std::ofstream(folder.path() + "/kernels.json") << baseline;
  const CommandResult result = compare(folder.path());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("worse: add_f32_64MiB: " + std::to_string(bytes) +
                                       " bytes, were " + std::to_string(bytes / 2)));
  EXPECT_THAT(result.output, HasSubstr("better: add_f32_64MiB: "));
  EXPECT_THAT(result.output, HasSubstr("some figures are more than 10 % worse"));
}

}  // namespace
}  // namespace sinter::test::compare_nvrtc_test
