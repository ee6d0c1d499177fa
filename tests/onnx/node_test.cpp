// ONNX's backend tests. tests/onnx/results.json lists every case that does not pass, with the
// reason; `SINTER_BLESS=1 build/release/bin/sinter_onnx_tests` rewrites it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "sinter/device.h"
#include "tests/onnx/judge/coverage.h"
#include "tests/onnx/judge/judge.h"
#include "tests/onnx/judge/results.h"

namespace sinter::test::node_test {
namespace {

/// The cases that tools/setup has written, without whole networks (networks_test.cpp); none if it
/// could not.
const std::map<std::string, std::vector<OnnxCase>>& cases_by_family() {
  static const auto families = [] {
    std::map<std::string, std::vector<OnnxCase>> result;
    const char* const folder = std::getenv("SINTER_ONNX_CASES");
    if (!folder) return result;
    for (OnnxCase& test : read_onnx_cases(folder))
      if (test.family != "light") result[test.family].push_back(std::move(test));
    return result;
  }();
  return families;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& [name, cases] : cases_by_family()) names.push_back(name);
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& family) {
  std::string name = family.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

class OnnxFamily : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const OnnxCase& test : cases_by_family().at(GetParam())) cases_.emplace_back(test);
  }
  std::vector<ImportedCase> cases_;
};

using OnnxOracle = OnnxFamily;
TEST_P(OnnxOracle, GivesTheExpectedVerdicts) {
  std::vector<Verdict> verdicts;
  for (const ImportedCase& imported : cases_) verdicts.push_back(imported.judge(Runner::oracle));
  const FamilyResults results = results_of(cases_, verdicts);
  if (std::getenv("SINTER_BLESS")) {
    bless_results(GetParam(), results);
    return bless_coverage_page();
  }
  EXPECT_EQ(difference(results, expected_results(GetParam())), "");
}

using OnnxHost = OnnxFamily;
TEST_P(OnnxHost, GivesTheVerdictsOfTheOracle) {
  const FamilyResults results = results_of(cases_, judge_on_host(cases_));
  EXPECT_EQ(difference(results, expected_results(GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Families, OnnxOracle, testing::ValuesIn(family_names()), test_name);
INSTANTIATE_TEST_SUITE_P(Families, OnnxHost, testing::ValuesIn(family_names()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxOracle);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxHost);

/// A few cases that are part of the source, so that they run without the onnx package. Most
/// families have one.
std::vector<ImportedCase> kept_cases() {
  std::vector<ImportedCase> cases;
  for (const OnnxCase& test :
       read_onnx_cases(std::filesystem::path(SINTER_SOURCE_DIR) / "tests/onnx/cases"))
    cases.emplace_back(test);
  return cases;
}

TEST(OnnxKeptCasesByOracle, Pass) {
  const std::vector<ImportedCase> cases = kept_cases();
  EXPECT_GE(cases.size(), 40U);
  for (const ImportedCase& imported : cases)
    EXPECT_EQ(text_of(imported.judge(Runner::oracle)), "") << imported.test().name;
}

/// Their expected values are random numbers of NumPy, but dtypes and shapes must be equal.
TEST(OnnxRandomCases, HaveTheExpectedTypes) {
  int count = 0;
  for (const auto& [family, cases] : cases_by_family())
    for (OnnxCase test : cases) {
      if (test.out_of_scope != "random numbers") continue;
      test.out_of_scope.clear();
      EXPECT_EQ(text_of(ImportedCase(test).judge_types()), "") << test.name;
      ++count;
    }
  if (cases_by_family().empty()) GTEST_SKIP() << "`bash tools/setup tests` writes the cases";
  EXPECT_GE(count, 10);
}

TEST(OnnxKeptCasesOnHost, Pass) {
  const std::vector<ImportedCase> cases = kept_cases();
  const std::vector<Verdict> verdicts = judge_on_host(cases);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(text_of(verdicts[i]), "") << cases[i].test().name;
}

TEST(OnnxKeptCasesOnGpu, Pass) {
  if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  if (default_device().name().starts_with("virtual GPU"))
    GTEST_SKIP() << "NVIDIA's libraries do not run on the virtual GPU";
  for (const ImportedCase& imported : kept_cases())
    EXPECT_EQ(text_of(imported.judge(Runner::default_device)), "") << imported.test().name;
}

TEST(OnnxCases, AreWritten) {
  if (cases_by_family().empty())
    GTEST_SKIP()
        << "there are no cases; `bash tools/setup tests` writes them if it can install the "
           "onnx wheel";
  std::size_t count = 0;
  for (const auto& [name, cases] : cases_by_family()) count += cases.size();
  EXPECT_GE(count, 2000U);
}

}  // namespace
}  // namespace sinter::test::node_test
