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

/// Those that default test runs always contain.
bool is_small(const OnnxCase& test) {
  return test.name.ends_with("squeezenet") || test.name.ends_with("shufflenet");
}

std::vector<std::string> names(bool small) {
  std::vector<std::string> result;
  for (const OnnxCase& test : networks())
    if (is_small(test) == small) result.push_back(test.name.substr(test.name.rfind('/') + 1));
  return result;
}

class OnnxNetwork : public testing::TestWithParam<std::string> {
 protected:
  static Verdict verdict() {
    for (const OnnxCase& test : networks())
      if (test.name.ends_with("/" + GetParam()))
        return ImportedCase(test).judge(Runner::optimized_host_device);
    return {Status::failed, "there is no such network"};
  }
};

using SmallOnnxNetwork = OnnxNetwork;
TEST_P(SmallOnnxNetwork, GivesTheExpectedResults) { EXPECT_EQ(text_of(verdict()), ""); }
using LargeOnnxNetwork = OnnxNetwork;
TEST_P(LargeOnnxNetwork, GivesTheExpectedResults) { EXPECT_EQ(text_of(verdict()), ""); }

std::string test_name(const testing::TestParamInfo<std::string>& network) { return network.param; }
INSTANTIATE_TEST_SUITE_P(Light, SmallOnnxNetwork, testing::ValuesIn(names(true)), test_name);
INSTANTIATE_TEST_SUITE_P(Light, LargeOnnxNetwork, testing::ValuesIn(names(false)), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SmallOnnxNetwork);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LargeOnnxNetwork);

}  // namespace
}  // namespace sinter::test::networks_test
