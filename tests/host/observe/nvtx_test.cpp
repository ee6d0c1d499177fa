// NVTX ranges: the spans of the trace appear as nested ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/logging/nvtx.h"
#include "tests/support/files/command.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::nvtx_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class NvtxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::command_path().empty()) GTEST_SKIP() << "this build has no command";
    std::ofstream(folder_.path() + "/g.sinter")
        << "graph g(x: f32[8]) {\n  y = exp x\n  return y\n}\n";
  }

  /// The ranges that the NVTX tool records while the command runs g.
  std::string recorded_ranges(const std::string& more_variables = "", int exit_code = 0) {
    const auto result =
        test::run_command("NVTX_INJECTION64_PATH=" SINTER_NVTX_TOOL " SINTER_NVTX_LOG=ranges.txt " +
                              more_variables + " sinter run g.sinter --device host",
                          folder_.path());
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    return test::read_text(folder_.path() + "/ranges.txt");
  }

 private:
  test::ScratchFolder folder_;
};

TEST_F(NvtxTest, RangesAreNested) {
  if (!std::filesystem::exists(SINTER_NVTX_TOOL)) GTEST_SKIP() << "this build has no NVTX";
  ASSERT_TRUE(Nvtx::is_built_in());
  const std::string ranges = recorded_ranges();
  EXPECT_THAT(ranges, StartsWith("0 sinter compile: compile g\n"
                                 "1 sinter plan: plan g\n1 end\n"
                                 "1 sinter emit: emit g_0\n1 end\n"));
  EXPECT_THAT(ranges, ContainsRegex("\n0 sinter launch: run g\n(1 .*\n|2 .*\n)*0 end\n"));
  EXPECT_THAT(ranges, ContainsRegex("0 sinter copy: download"));
  // Each range ends at the depth at which it began.
  std::vector<int> open;
  std::istringstream lines(ranges);
  for (std::string line; std::getline(lines, line);) {
    const int depth = std::stoi(line);
    if (line.ends_with(" end")) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), depth);
      open.pop_back();
    } else {
      EXPECT_EQ(depth, static_cast<int>(open.size())) << line;
      open.push_back(depth);
    }
  }
  EXPECT_THAT(open, IsEmpty());
}

TEST_F(NvtxTest, RangesEndOnErrors) {
  if (!std::filesystem::exists(SINTER_NVTX_TOOL)) GTEST_SKIP() << "this build has no NVTX";
  const std::string ranges = recorded_ranges("SINTER_HOST_CXX=/bin/false", 1);
  EXPECT_THAT(ranges, StartsWith("0 sinter compile: compile g\n"));
  EXPECT_TRUE(ranges.ends_with("\n0 end\n")) << ranges;
}

TEST_F(NvtxTest, HasNoToolByDefault) { EXPECT_FALSE(Nvtx::has_tool()); }

}  // namespace
}  // namespace sinter::nvtx_test
