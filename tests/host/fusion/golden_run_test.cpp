// Plans, emits and runs the graphs in tests/golden/run on the host device, and checks them as
// described in tests/support/run/run.h. Each line `// sizes: rows = 64, columns = 128` is one run.
// A graph without such a line has no symbols and runs once.
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/run/run.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace sinter::test::golden_run_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/run";

class GoldenRun : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenRun, PassesEveryCheckOnTheHostDevice) {
  const std::string text = read_text(GetParam());
  const Graph graph = parse(text, GetParam().filename().string());
  std::vector<GoldenSizes> runs = golden_sizes(text);
  if (runs.empty()) runs.emplace_back();
  for (const GoldenSizes& sizes : runs) {
    std::vector<Size> named;
    for (const auto& [name, value] : sizes) named.push_back({name, value});
    run_and_check(graph, named, {.misaligned = true, .optimized = true});
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenRun, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::golden_run_test
