// Graphs of real models on a GPU, if available ($SINTER_CORPUS), in parts.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/body/minimal_bytes.h"
#include "ir/graph/node.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/run/compare_with_host.h"

namespace sinter::test::corpus_parity_test {
namespace {

constexpr int kParts = 50;
/// A virtual GPU and the oracle take long for larger graphs.
constexpr std::int64_t kMostBytes = 12'000'000;

class CorpusParity : public testing::TestWithParam<int> {};

/// Small graphs follow large ones in no order of names, so neighbours are in different parts.
TEST_P(CorpusParity, ResultsAreThoseOfTheHostDevice) {
  if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  const char* const corpus = std::getenv("SINTER_CORPUS");
  if (!corpus || !*corpus) GTEST_SKIP() << "SINTER_CORPUS is the folder of a corpus";
  const std::vector<std::filesystem::path> files = golden_graphs(corpus);
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < files.size(); i += kParts) {
    SCOPED_TRACE(files[i].filename().string());
    const Graph graph = parse(read_text(files[i]), files[i].filename().string());
    if (!graph.data().extents->symbols().empty()) continue;
    if (minimal_bytes(graph.data(), {}) > kMostBytes) continue;
    // The host device runs every graph without fusion, too.
    run_and_compare_with_host(default_device(), graph, {},
                              {.candidates = false, .replay = false, .unfused = false});
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, CorpusParity, testing::Range(0, kParts));

}  // namespace
}  // namespace sinter::test::corpus_parity_test
