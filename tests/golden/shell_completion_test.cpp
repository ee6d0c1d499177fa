// Completions of the command in zsh and fish, if they are installed. The transcript
// tests/golden/command/completion.txt tests bash.
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
  /// The completions of the last of `words` in zsh. The function is loaded by its name at its first
  /// use, as for installed files.
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

  /// Stubs of functions that zsh provides only during a completion.
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
  EXPECT_EQ(
      from_fish("cache p"),
      "path\tPrint the folder of the disk cache\nprune\tRemove the least recently used entries\n");
  EXPECT_THAT(from_fish("run x.sinter --out"), HasSubstr("--outputs\tWrite each output"));
  EXPECT_EQ(from_fish("run x.sinter --htm"), "");
}

}  // namespace
}  // namespace sinter::test::shell_completion_test
