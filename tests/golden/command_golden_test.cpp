// Transcripts of the command. Each line of tests/golden/command/*.txt that starts with `$ ` is run
// in that folder, and its expected output follows. SINTER_BLESS=1 accepts the current output.
#include "tests/support/files/command.h"

#include "tests/support/files/golden.h"
#include "tests/support/run/run.h"  // its environment is that of the commands, too

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::test::command_golden_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/command";

std::vector<fs::path> transcripts() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class Command : public testing::TestWithParam<fs::path> {};

TEST_P(Command, MatchesItsTranscript) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  std::ifstream stream(GetParam());
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("$ ")) continue;
    const CommandResult result = run_command(line.substr(2), kFolder);
    text += (text.empty() ? "" : "\n") + line + "\n" + result.output;
    if (!result.output.empty() && !result.output.ends_with('\n')) text += '\n';
    if (result.exit_code != 0) text += "[exit " + std::to_string(result.exit_code) + "]\n";
  }
  expect_golden(GetParam(), text);
}

INSTANTIATE_TEST_SUITE_P(Golden, Command, testing::ValuesIn(transcripts()),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::command_golden_test
