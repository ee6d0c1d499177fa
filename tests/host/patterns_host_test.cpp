// The patterns of memory-bound work with few rows, run and counted: every launch touches the bytes
// that were predicted, and results are those of the oracle and of the unfused graph.
#include <algorithm>
#include <cctype>
#include <map>

#include <gtest/gtest.h>

#include "ir/bind.h"
#include "ir/extent.h"
#include "ir/node.h"
#include "tests/support/patterns.h"
#include "tests/support/run.h"

namespace sinter::test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";
constexpr std::int64_t kMostRows = 6;
constexpr std::int64_t kMostColumns = 5000;
constexpr std::int64_t kMostElements = 1 << 20;

std::int64_t largest_value(const Graph& graph, std::span<const Size> sizes) {
  std::vector<NamedSize> named;
  for (const Size& size : sizes) named.push_back({size.symbol, size.value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  std::int64_t largest = 0;
  for (const Node* node : graph.data().nodes)
    largest = std::max(largest, evaluate(product(node->shape), symbols));
  return largest;
}

/// Of each file the longest rows that are short enough, few of them; without what stays too large.
std::vector<Pattern> small_patterns() {
  std::map<std::string, Pattern> by_file;
  for (Pattern& pattern : patterns(kFolder)) {
    for (auto& [symbol, value] : pattern.sizes) value = std::min(value, kMostRows);
    const bool has_extent = pattern.columns != "-";
    if (has_extent && std::stoll(pattern.columns) > kMostColumns) continue;
    if (largest_value(pattern.graph(), pattern.named_sizes()) > kMostElements) continue;
    const std::string file = pattern.name.substr(0, pattern.name.find(' '));
    by_file.insert_or_assign(file, std::move(pattern));
  }
  std::vector<Pattern> result;
  for (auto& [file, pattern] : by_file) result.push_back(std::move(pattern));
  return result;
}

class SmallPattern : public testing::TestWithParam<Pattern> {};

TEST_P(SmallPattern, TouchesThePredictedBytes) {
  const Pattern& pattern = GetParam();
  const RunResult result =
      run_and_check(pattern.graph(), pattern.named_sizes(), {.candidates = false});
  std::int64_t launches = 0;
  for (const KernelReport& kernel : result.report.kernels) launches += kernel.launches;
  EXPECT_EQ(result.launches, launches);
  EXPECT_LE(result.launches, static_cast<std::int64_t>(pattern.launches));
}

std::string name_of(const testing::TestParamInfo<Pattern>& test) {
  std::string name = test.param.name;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Patterns, SmallPattern, testing::ValuesIn(small_patterns()), name_of);

}  // namespace
}  // namespace sinter::test
