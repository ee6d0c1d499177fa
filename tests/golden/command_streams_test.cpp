// The command with closed or full streams. Its exit code is still correct, and its output does not
// end up in files that it writes.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter::test::command_streams_test {
namespace {

class CommandStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    std::filesystem::copy_file(SINTER_SOURCE_DIR "/tests/golden/command/add.sinter",
                               folder_.path() + "/add.sinter");
  }
  CommandResult run(const std::string& line) const { return run_command(line, folder_.path()); }

  ScratchFolder folder_;
};

TEST_F(CommandStreams, ClosedErrorStreamsKeepTheExitCode) {
  for (const char* const errors : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(run(std::string("sinter frobnicate ") + errors).exit_code, 2) << errors;
    EXPECT_EQ(run(std::string("sinter dump nothing.sinter ") + errors).exit_code, 2) << errors;
    EXPECT_EQ(run(std::string("echo junk | sinter dump - ") + errors).exit_code, 1) << errors;
    EXPECT_EQ(run(std::string("sinter dump add.sinter ") + errors).exit_code, 0) << errors;
  }
}

TEST_F(CommandStreams, UnwritableOutputIsAFailure) {
  for (const char* const output : {">&-", ">/dev/full", ">&- <&-"})
    for (const char* const command :
         {"version", "--help", "dump add.sinter", "run add.sinter --device host",
          "explain add.sinter --json"}) {
      const CommandResult result = run(std::string("sinter ") + command + " " + output);
      EXPECT_EQ(result.exit_code, 1) << command << output;
      EXPECT_EQ(result.output, "sinter: the output cannot be written\n") << command << output;
    }
  EXPECT_EQ(run("sinter dump add.sinter >&- 2>&-").exit_code, 1);
}

TEST_F(CommandStreams, ClosedInputCannotBeRead) {
  const CommandResult result = run("sinter dump - <&-");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "sinter: standard input cannot be read: Bad file descriptor\n");
}

/// Without protection, the trace would get the free descriptor number of standard output.
TEST_F(CommandStreams, FilesDoNotReceiveTheOutput) {
  EXPECT_EQ(run("SINTER_TRACE=trace.json sinter run add.sinter --device host >&-").exit_code, 1);
  std::ifstream trace(folder_.path() + "/trace.json");
  ASSERT_TRUE(trace);
  EXPECT_NO_THROW(nlohmann::json::parse(trace));
}

}  // namespace
}  // namespace sinter::test::command_streams_test
