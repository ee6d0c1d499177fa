// What shells offer for words of the command, where zsh and fish are installed; bash is asked in
// tests/golden/command/completion.txt.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::shell_completion_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ShellCompletion : public ::testing::Test {
 protected:
  std::string say(const std::string& line) const {
    const CommandResult result = run_command(line, folder.path());
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.output;
    return result.output;
  }
  bool has(const std::string& shell) const {
    return run_command("command -v " + shell, folder.path()).exit_code == 0;
  }
  /// What zsh adds for the last of `words`: found by the name of its function, as installed files
  /// are, the first time that somebody asks.
  std::string from_zsh(const std::string& words) const {
    return say("sinter completion zsh > _sinter; zsh -f -c '" + std::string(kOutsideOfCompletion) +
               "fpath=($PWD); autoload -Uz _sinter; words=(sinter " + words +
               "); CURRENT=${#words}; _sinter'");
  }
  std::string from_fish(const std::string& words) const {
    return say(
        "sinter completion fish > it.fish; HOME=$PWD fish --no-config -c 'source it.fish; complete "
        "-C \"sinter " +
        words + "\"'");
  }

  /// What a shell script may not call elsewhere.
  static constexpr std::string_view kOutsideOfCompletion =
      "compadd() { print -r -- \"${@[2,-1]}\" }; _files() { print files }; "
      "compdef() { print -r -- \"compdef $*\" }; ";
  ScratchFolder folder;
};

TEST_F(ShellCompletion, ZshOffersTheWordsOfACommand) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh";
  EXPECT_EQ(from_zsh("cache p"), "ls stats verify prune clear path --help\nfiles\n");
  EXPECT_THAT(from_zsh("run x.sinter --size rows=4 -"), HasSubstr(" --outputs "));
  EXPECT_THAT(from_zsh("run x.sinter -"), Not(HasSubstr("--html")));
  EXPECT_EQ(say("sinter completion zsh > it.zsh; zsh -f -c '" + std::string(kOutsideOfCompletion) +
                "source ./it.zsh'"),
            "compdef _sinter_words sinter\n");
}

TEST_F(ShellCompletion, FishOffersTheWordsOfACommand) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  if (!has("fish")) GTEST_SKIP() << "there is no fish";
  EXPECT_THAT(from_fish("ca"), HasSubstr("cache\t"));
  EXPECT_EQ(from_fish("cache p"),
            "path\tPrint the folder of the disk cache\nprune\tRemove the least recently used entries\n");
  EXPECT_THAT(from_fish("run x.sinter --out"), HasSubstr("--outputs\tWrite each output"));
  EXPECT_EQ(from_fish("run x.sinter --htm"), "");
}

}  // namespace
}  // namespace sinter::test::shell_completion_test
