// The command shows the progress of long work on terminals only. `script`, which every Debian has,
// provides the terminal.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::command_progress_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CommandProgress : public ::testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "there is no script";
    for (const std::string name : {"one", "two"})
      std::ofstream(folder.path() + "/" + name + ".sinter")
          << "graph " + name + "(x: f32[8]) {\n  y = exp x\n  return y\n}\n";
  }
  /// The text on a terminal with the input `typed`. The shell runs `before` first.
  std::string on_terminal(const std::string& words, const std::string& typed = "",
                          const std::string& before = "") const {
    const std::string line = "'" + command_path().string() + "' " + words;
    return run_command(before + "printf '" + typed + "' | script -qec \"" + line + "\" /dev/null",
                       folder.path())
        .output;
  }

  ScratchFolder folder;
};

TEST_F(CommandProgress, IsShownOnTerminals) {
  const std::string shown = on_terminal("corpus . --stage plan");
  EXPECT_THAT(shown, HasSubstr("graphs: 0 of 2\r"));
  EXPECT_THAT(shown, HasSubstr("graphs: 1 of 2, one.sinter\r"));
  EXPECT_THAT(on_terminal("tune one.sinter --device host"),
              HasSubstr("compiling and timing one\r"));
  EXPECT_THAT(on_terminal("profile one.sinter --device host --repeats 1"),
              HasSubstr("tuning and timing one\r"));
  EXPECT_THAT(on_terminal("explain one.sinter --measure --device host --repeats 1"),
              HasSubstr("tuning and timing one\r"));
  EXPECT_THAT(on_terminal("compile one.sinter --arch host -o one.sinterx"),
              HasSubstr("compiling one\r"));
}

using CommandTerminal = CommandProgress;

TEST_F(CommandTerminal, ClearingTheCacheAsksForConfirmation) {
  const std::string cache =
      "export SINTER_CACHE=read_write SINTER_CACHE_DIR='" + folder.path() + "/cache'; ";
  const auto entries = [&] {
    return run_command(cache + "sinter cache stats | grep ^entries", folder.path()).output;
  };
  run_command(cache + "sinter run one.sinter --device host", folder.path());
  const std::string filled = entries();
  ASSERT_THAT(filled, Not(HasSubstr(" 0 ")));
  EXPECT_THAT(on_terminal("cache clear", "no\\n", cache), HasSubstr("nothing was removed"));
  EXPECT_EQ(entries(), filled);
  EXPECT_THAT(on_terminal("cache clear", "y\\n", cache), HasSubstr("removed "));
  EXPECT_THAT(entries(), HasSubstr(" 0 "));
}

/// Spaces overwrite the progress before other text is written.
TEST_F(CommandProgress, IsErased) {
  EXPECT_THAT(on_terminal("corpus . --stage plan"),
              HasSubstr("graphs: 0 of 2\r              \rone.sinter"));
}

TEST_F(CommandProgress, IsShownNowhereElse) {
  EXPECT_THAT(run_command("sinter corpus . --stage plan", folder.path()).output,
              Not(HasSubstr("graphs: ")));
  EXPECT_THAT(on_terminal("corpus . --stage plan --quiet"), Not(HasSubstr("graphs: ")));
}

}  // namespace
}  // namespace sinter::test::command_progress_test
