// Hostile input of the command gives an error, never a crash, a hang or a screen full of junk. The
// help of every command has an example.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::command_hostile_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMany = 10'000'000;

class HostileInput : public ::testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  }
  /// Dumps a file with `text`, with limited memory. Sanitizers reserve more address space than the
  /// limit, so their builds have none.
  CommandResult dump(const std::string& text, const std::string& stage = "graph") const {
    std::ofstream(folder.path() + "/it.sinter", std::ios::binary) << text;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const std::string limit;
#else
    const std::string limit = "ulimit -v 2000000; ";
#endif
    return run_command(limit + "sinter dump it.sinter --stage " + stage, folder.path());
  }
  /// Expects an error with a position, in short lines without control characters.
  void expect_refused(const std::string& text, const std::string& message) const {
    const CommandResult result = dump(text);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output, HasSubstr("it.sinter:"));
    EXPECT_THAT(result.output, HasSubstr(message));
    std::size_t longest = 0;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    EXPECT_LT(longest, 250U);
    EXPECT_LT(result.output.size(), 200'000U);
    EXPECT_TRUE(std::ranges::none_of(
        result.output, [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; }));
  }

  ScratchFolder folder;
};

TEST_F(HostileInput, JunkIsRejected) {
  std::mt19937 random(1);
  std::string bytes(kMany, '\0');
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    const auto word = random();
    for (std::size_t k = 0; k < 4; ++k) bytes[i + k] = static_cast<char>(word >> (8 * k));
  }
  expect_refused(bytes, "expected ");
}

TEST_F(HostileInput, OneLongLineIsRejected) {
  expect_refused(std::string(kMany, 'x'), "expected ");
}

TEST_F(HostileInput, ManyBracketsAreRejected) {
  expect_refused(std::string(kMany, '('), "expected ");
}

TEST_F(HostileInput, NoTextIsRejected) { expect_refused("", "expected "); }

TEST_F(HostileInput, ZerosAndEscapesAreShownEscaped) {
  expect_refused(std::string(1000, '\0'), "expected ");
  expect_refused("graph g(x: f32[4]) {\n y = \x1b[31m\xff\xfe nope\n}\n", "'\\x1b'");
}

TEST_F(HostileInput, DeepNestingIsRejected) {
  expect_refused("graph g(x: f32[" + std::string(1'000'000, '(') + "4]) {\n return x\n}\n",
                 "brackets nest deeper than 64");
}

TEST_F(HostileInput, HugeExtentsAreRejected) {
  const std::string huge = "4611686018427387904";
  expect_refused("graph g(x: f32[" + huge + ", " + huge + "]) {\n return x\n}\n",
                 "more than 2^60 elements");
  expect_refused("graph g(x: f32[" + std::string(100'000, '9') + "]) {\n return x\n}\n",
                 "does not fit in 64 bits");
}

TEST_F(HostileInput, ManyMistakesAreCutOff) {
  std::string text = "graph g(x: f32[4]) {\n";
  for (int i = 0; i < 100'000; ++i) text += " y = nope x\n";
  expect_refused(text + "}\n", "these are the first 500 errors");
}

TEST_F(HostileInput, AHundredThousandNodesWork) {
  std::string text = "graph g(x: f32[4]) {\n  y0 = exp x\n";
  for (int i = 1; i < 100'000; ++i)
    text += "  y" + std::to_string(i) + " = add y" + std::to_string(i - 1) + ", x\n";
  const CommandResult result = dump(text + "  return y99999\n}\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("y99999 = add y99998, x"));
}

TEST_F(HostileInput, FilesThatCannotBeReadAreUsageErrors) {
  for (const char* file : {".", "removed.sinter", "/proc/self/mem"}) {
    const CommandResult result = run_command(std::string("sinter dump ") + file, folder.path());
    EXPECT_EQ(result.exit_code, 2) << file;
    EXPECT_THAT(result.output, HasSubstr("cannot be read: "));
  }
}

TEST_F(HostileInput, UnwritableOutputIsAnError) {
  for (const char* words : {"ops", "devices", "--help", "ops --help", "--version"})
    for (const char* out : {" > /dev/full", " >&-"}) {
      const CommandResult result = run_command(std::string("sinter ") + words + out, folder.path());
      EXPECT_EQ(result.exit_code, 1) << words << out;
      EXPECT_THAT(result.output, HasSubstr("sinter: ")) << words << out;
    }
}

/// The words after `Subcommands:` in a help.
std::vector<std::string> subcommands(const std::string& help) {
  std::vector<std::string> names;
  const std::size_t at = help.find("Subcommands:\n");
  if (at == help.npos) return names;
  std::istringstream lines(help.substr(at));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  "))
    if (line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

TEST(CommandHelp, EveryCommandHasAnExample) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  std::vector<std::string> paths = subcommands(run_command("sinter --help", "/").output);
  EXPECT_GE(paths.size(), 9U);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string path = paths[i];
    const CommandResult result = run_command("sinter " + path + " --help", "/");
    EXPECT_THAT(result.output, HasSubstr("Example:\n  sinter " + path)) << path;
    for (const std::string& name : subcommands(result.output)) paths.push_back(path + " " + name);
  }
}

}  // namespace
}  // namespace sinter::test::command_hostile_test
