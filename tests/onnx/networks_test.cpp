// Whole networks on the host device: those of the onnx package, whose weights are all equal.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/onnx/judge/judge.h"

namespace sinter::test::networks_test {
namespace {

std::vector<OnnxCase> networks() {
  const char* const folder = std::getenv("SINTER_ONNX_CASES");
  std::vector<OnnxCase> result;
  if (!folder) return result;
  for (OnnxCase& test : read_onnx_cases(folder))
    if (test.family == "light") result.push_back(std::move(test));
  return result;
}

/// `squeezenet` for `light/light_squeezenet`.
std::string short_name(const OnnxCase& test) {
  return test.name.substr(std::string_view("light/light_").size());
}

/// Skips the test if there are no cases.
void expect_results(const std::string& name) {
  const std::vector<OnnxCase> all = networks();
  if (all.empty()) GTEST_SKIP() << "there are no cases; `bash tools/setup tests` writes them";
  const auto found =
      std::ranges::find_if(all, [&](const OnnxCase& test) { return short_name(test) == name; });
  ASSERT_NE(found, all.end()) << name;
  EXPECT_EQ(text_of(ImportedCase(*found).judge(Runner::optimized_host_device)), "");
}

// Default test runs contain at least one test of each suite, so these two always run.
TEST(OnnxSqueezenet, GivesTheExpectedResults) { expect_results("squeezenet"); }
TEST(OnnxShufflenet, GivesTheExpectedResults) { expect_results("shufflenet"); }

std::vector<std::string> other_networks() {
  std::vector<std::string> names;
  for (const OnnxCase& test : networks())
    if (short_name(test) != "squeezenet" && short_name(test) != "shufflenet")
      names.push_back(short_name(test));
  return names;
}

class OnnxNetwork : public testing::TestWithParam<std::string> {};
TEST_P(OnnxNetwork, GivesTheExpectedResults) { expect_results(GetParam()); }

std::string network_name(const testing::TestParamInfo<std::string>& network) {
  return network.param;
}
INSTANTIATE_TEST_SUITE_P(Large, OnnxNetwork, testing::ValuesIn(other_networks()), network_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxNetwork);

}  // namespace
}  // namespace sinter::test::networks_test
