// Graphs of real models, if available ($SINTER_CORPUS). Their plans need no more kernels and bytes
// than the committed totals.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/files/command.h"

namespace sinter::test::corpus_baseline_test {
namespace {

TEST(CorpusBaseline, PlansAreNoWorseThanTheCommittedTotals) {
  const char* const corpus = std::getenv("SINTER_CORPUS");
  if (command_path().empty() || !corpus || !*corpus)
    GTEST_SKIP() << "SINTER_CORPUS is the folder of a corpus";
  const std::string baseline = SINTER_SOURCE_DIR "/bench/results/corpus_plan.json";
  ASSERT_TRUE(std::filesystem::exists(baseline));
  const CommandResult result =
      run_command("sinter corpus '" + std::filesystem::absolute(corpus).string() +
                      "' --stage plan --compare '" + baseline + "' | tail -n 12",
                  std::filesystem::temp_directory_path());
  EXPECT_EQ(result.output.find("worse than"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("the baseline has"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(" failed 0"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace sinter::test::corpus_baseline_test
