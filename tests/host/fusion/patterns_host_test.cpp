// The patterns of memory-bound work at small sizes. Kernels have the forms of the stated sizes,
// launches move the predicted bytes, and results match the oracle and the unfused graph.
#include <filesystem>

#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/run.h"

namespace sinter::test::patterns_host_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";
constexpr std::int64_t kMostElements = std::int64_t{6} << 20;

/// Runs the small version of `pattern`, whose kernels must have the form `form`.
void expect_small_one_as_stated(const Pattern& pattern, const std::string& form) {
  SCOPED_TRACE(pattern.name);
  const Pattern small = small_pattern(pattern);
  ASSERT_LE(input_elements(small), kMostElements) << "has to say how it is to be run";
  const Program program = plan_pattern(small);
  EXPECT_EQ(forms_of(program), form);
  DeviceState device(host::host_driver(), 0);
  device.target = small.target();
  const RunResult result =
      run_and_check_on(Device(&device), small.graph(), small.named_sizes(), {.candidates = false});
  ASSERT_EQ(result.report.kernels.size(), program.kernels.size());
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    EXPECT_EQ(result.report.kernels[i].kind, name(program.kernels[i].kind));
  EXPECT_EQ(result.launches, static_cast<std::int64_t>(program.kernels.size()));
  EXPECT_LE(result.launches, static_cast<std::int64_t>(pattern.launches));
}

class SmallPatterns : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(SmallPatterns, RunAsStated) {
  for (const auto& [form, pattern] : one_of_each_form(GetParam()))
    expect_small_one_as_stated(pattern, form);
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& test) {
  return test.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Patterns, SmallPatterns, testing::ValuesIn(golden_graphs(kFolder)),
                         name_of);

}  // namespace
}  // namespace sinter::test::patterns_host_test
