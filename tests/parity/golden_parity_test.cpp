// The graphs of tests/golden on a GPU: every pattern of memory-bound work at small sizes, and every
// graph that also runs on the host device.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/compare_with_host.h"

namespace sinter::test::golden_parity_test {
namespace {

class GoldenParity : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

/// Graphs with a size per line `// sizes: …`.
class RunParity : public GoldenParity {};

TEST_P(RunParity, ResultsAreThoseOfTheHostDevice) {
  const std::string text = read_text(GetParam());
  const Graph graph = parse(text, GetParam().filename().string());
  std::vector<GoldenSizes> runs = golden_sizes(text);
  if (runs.empty()) runs.emplace_back();
  for (const GoldenSizes& sizes : runs) {
    std::vector<Size> named;
    for (const auto& [name, value] : sizes) named.push_back({name, value});
    run_and_compare_with_host(default_device(), graph, named,
                              {.candidates = false, .unfused = runs_unfused(), .misaligned = true});
  }
}

/// A virtual GPU takes long for larger ones.
constexpr std::int64_t kMostElements = 1 << 18;

/// All patterns with numbers that are small, and one of each form of kernels.
std::vector<Pattern> chosen_patterns(const std::filesystem::path& file) {
  std::vector<Pattern> chosen = patterns_in(file);
  std::erase_if(chosen, [](const Pattern& pattern) {
    return pattern.has_symbolic_columns() || input_elements(small_pattern(pattern)) > kMostElements;
  });
  for (const auto& [form, pattern] : one_of_each_form(file))
    if (std::ranges::find(chosen, pattern.name, &Pattern::name) == chosen.end())
      chosen.push_back(pattern);
  return chosen;
}

class PatternParity : public GoldenParity {};

TEST_P(PatternParity, ResultsAreThoseOfTheHostDevice) {
  const Device gpu = default_device();
  for (const Pattern& pattern : chosen_patterns(GetParam())) {
    SCOPED_TRACE(pattern.name);
    const Pattern small = small_pattern(pattern);
    // With few SMs in the plan, small sizes give kernels of the form that the stated sizes have.
    DeviceState device(gpu.state()->driver, gpu.ordinal());
    device.target = small.target(device.target);
    run_and_compare_with_host(Device(&device), small.graph(), small.named_sizes(),
                              {.candidates = false, .replay = false, .unfused = runs_unfused()});
  }
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& test) {
  return test.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Golden, RunParity,
                         testing::ValuesIn(golden_graphs(SINTER_SOURCE_DIR "/tests/golden/run")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Golden, PatternParity,
                         testing::ValuesIn(golden_graphs(SINTER_SOURCE_DIR
                                                         "/tests/golden/patterns")),
                         name_of);

}  // namespace
}  // namespace sinter::test::golden_parity_test
