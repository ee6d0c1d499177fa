// The patterns of memory-bound work at small sizes. Kernels have the forms of the stated sizes,
// launches move the predicted bytes, and results match the oracle and the unfused graph.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "ir/graph/node.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/run.h"

namespace sinter::test::patterns_host_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";
constexpr std::int64_t kMostColumns = 5000;
constexpr std::int64_t kMostElements = std::int64_t{6} << 20;

/// The number of elements of all inputs.
std::int64_t elements_of(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  std::vector<NamedSize> named;
  for (const auto& [symbol, value] : pattern.sizes) named.push_back({symbol, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  std::int64_t elements = 0;
  for (const InputInfo& input : graph.data().inputs)
    elements += evaluate(product(input.node->shape), symbols);
  return elements;
}

/// Selects one pattern per form of kernels in `file`: the last one with few columns, or the one
/// with the least work.
std::map<std::string, Pattern> one_of_each_form(const std::filesystem::path& file) {
  std::map<std::string, Pattern> by_form;
  for (Pattern& pattern : patterns_in(file)) {
    const std::string form = forms_of(plan_pattern(pattern));
    const auto known = by_form.find(form);
    const bool is_short = pattern.columns == "-" || std::stoll(pattern.columns) <= kMostColumns;
    if (known == by_form.end() || is_short ||
        elements_of(small_pattern(pattern)) < elements_of(small_pattern(known->second)))
      by_form.insert_or_assign(form, std::move(pattern));
  }
  return by_form;
}

/// Runs the small version of `pattern`, whose kernels must have the form `form`.
void expect_small_one_as_stated(const Pattern& pattern, const std::string& form) {
  SCOPED_TRACE(pattern.name);
  const Pattern small = small_pattern(pattern);
  ASSERT_LE(elements_of(small), kMostElements) << "has to say how it is to be run";
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
