// The main example trains a model. Its output matches the README.
#include "runtime/compile/nvrtc.h"
#include "tests/support/files/command.h"

#include <filesystem>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::digits_example_test {
namespace {

using ::testing::HasSubstr;

/// The first group of the only match; empty if there is none or more than one.
std::string found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  const std::sregex_iterator first(text.begin(), text.end(), regex), end;
  return std::distance(first, end) == 1 ? (*first)[1].str() : "";
}

TEST(DigitsExample, TrainsAndShowsSavingsOfFusionAndReplay) {
  const std::filesystem::path program = command_path().parent_path() / "digits";
  if (!exists(program)) GTEST_SKIP() << "this build has no examples";
  const CommandResult result = run_command("'" + program.string() + "' --device host",
                                           std::filesystem::current_path(), CommandNvrtc::machine);
  const std::string& text = result.output;
  ASSERT_EQ(result.exit_code, 0) << text;
  EXPECT_THAT(text, HasSubstr("device: host device, kernels planned for h200"));
  EXPECT_EQ(found(text, "([0-9]+ recorded ops -> [0-9]+ launch)"), "33 recorded ops -> 1 launch");
  // The number of blocks with partial sums depends on the schedule that tuning chooses.
  EXPECT_NE(found(text, "bytes moved per step: (183082|183162|183322) fused"), "") << text;
  EXPECT_THAT(text, HasSubstr("extern \"C\" __global__ void __launch_bounds__"));
  EXPECT_THAT(text, HasSubstr("candidates, "));
  EXPECT_NE(found(text, "(step  500  loss 0\\.1[0-9]{3}  NaN: no)"), "");
  // Launches and synchronizations per step.
  EXPECT_NE(found(text, "(naive, unfused +30\\.00 +1\\.02)"), "") << text;
  EXPECT_NE(found(text, "(fused +1\\.00 +0\\.02)"), "") << text;
  EXPECT_NE(found(text, "(fused, replayed +1\\.00 +0\\.02)"), "") << text;
  EXPECT_THAT(text, HasSubstr("naive, fused and replayed training end in bit-identical weights"));
  if (nvrtc().nvrtc) {
    EXPECT_NE(found(text, "(compiled by NVRTC for sm_90; 0 of them spill)"), "") << text;
  }
  const std::string accuracy = found(text, "\nheld-out accuracy: (0\\.[0-9]{4})\n$");
  ASSERT_NE(accuracy, "") << text;
  EXPECT_GE(std::stod(accuracy), 0.93);
}

}  // namespace
}  // namespace sinter::test::digits_example_test
