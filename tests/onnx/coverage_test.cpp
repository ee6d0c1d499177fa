// The page docs/reference/onnx_tests.md, which shows the results of all cases.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/onnx/judge/coverage.h"

namespace sinter::test::coverage_test {
namespace {

TEST(OnnxCoverage, ThePageShowsTheResults) {
  if (std::getenv("SINTER_BLESS")) GTEST_SKIP() << "the tests of the cases rewrite the page";
  const CoverageOfPage page = coverage_of_page();
  EXPECT_EQ(page.found, page.wanted)
      << "SINTER_BLESS=1 build/release/bin/sinter_onnx_tests rewrites the page";
}

TEST(OnnxCoverage, CountsEachStatusAndMergesEqualReasons) {
  const std::string problem = "unsupported: the model cannot be imported, because of one problem: ";
  const std::string page = coverage_page(
      {{"Abs", {.cases = 2, .passed = 2, .others = {}}},
       {"Loop",
        {.cases = 5,
         .passed = 1,
         .with_constants = 1,
         .others = {{"a", "out of scope: loops"},
                    {"d", "the expected numbers are inexact: y [0] is 2 instead of 1"},
                    {"b", problem + "node 0 (ai.onnx.Loop): sinter does not import this operator"},
                    {"c", problem + "node 'x' (ai.onnx.Loop): sinter does not import this "
                                    "operator"}}}}});
  EXPECT_NE(
      page.find("3 of 7 cases pass, which is 50.0 % of the 6 in scope. Of these, 1 need inputs "
                "that are constants."),
      std::string::npos);
  EXPECT_NE(page.find("| Loop | 5 | 1 | 1 | 2 | 0 | 1 |"), std::string::npos);
  EXPECT_NE(page.find("families pass: Abs."), std::string::npos);
  EXPECT_NE(page.find("| unsupported: `Loop`: sinter does not import this operator | 2 |"),
            std::string::npos);
}

}  // namespace
}  // namespace sinter::test::coverage_test
