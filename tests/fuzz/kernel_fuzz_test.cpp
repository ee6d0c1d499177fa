// Runs random graphs through the whole of sinter. SINTER_FUZZ_ROUNDS=N in the environment
// multiplies the number of graphs by N. SINTER_FUZZ_SEED=S selects other graphs: the first has seed
// S.
#include "tests/support/files/read_text.h"
#include "tests/support/fuzz/fuzz.h"
#include "tests/support/fuzz/minimise.h"
#include "tests/support/run/run.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::test::kernel_fuzz_test {
namespace {

constexpr unsigned kGraphs = 480;
constexpr unsigned kGraphsPerTest = 40;
constexpr unsigned kThoroughGraphs = 24;

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

FuzzCase fuzz_case(unsigned seed) {
  return {.random = random_graph(seed, /*ops=*/3 + static_cast<int>(seed % 11)), .seed = seed};
}

/// The seeds of test `number`: `per_test` in each round of `per_round` graphs.
std::vector<unsigned> seeds_of(unsigned number, unsigned per_test, unsigned per_round) {
  const unsigned first = from_environment("SINTER_FUZZ_SEED", 0);
  const unsigned rounds = from_environment("SINTER_FUZZ_ROUNDS", 1);
  std::vector<unsigned> seeds;
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < per_test; ++i)
      seeds.push_back(first + round * per_round + number * per_test + i);
  return seeds;
}

/// Writes the range of seeds to the log and to the test report.
void log_line(const std::vector<unsigned>& seeds) {
  const std::string text = std::to_string(seeds.front()) + " to " + std::to_string(seeds.back());
  std::printf("%zu graphs of seeds %s\n", seeds.size(), text.c_str());
  testing::Test::RecordProperty("seeds", text);
}

/// Fused and unfused runs give equal bits, within the oracle's bounds, and access the predicted
/// bytes.
class KernelFuzz : public testing::TestWithParam<unsigned> {};

TEST_P(KernelFuzz, FusedAndUnfusedBitsAreEqual) {
  const std::vector<unsigned> seeds = seeds_of(GetParam(), kGraphsPerTest, kGraphs);
  ASSERT_FALSE(seeds.empty()) << "SINTER_FUZZ_ROUNDS is 0";
  log_line(seeds);
  for (std::size_t first = 0; first < seeds.size(); first += kGraphsPerTest) {
    std::vector<FuzzCase> cases;
    for (std::size_t i = first; i < first + kGraphsPerTest; ++i)
      cases.push_back(fuzz_case(seeds[i]));
    compile_together(cases);
    for (const FuzzCase& one : cases) {
      const FuzzFailure failure = run_fuzz_case(one.random, one.seed);
      if (!failure) continue;
      const std::string name = "seed_" + std::to_string(one.seed);
      ADD_FAILURE() << "seed " << one.seed << " (SINTER_FUZZ_SEED=" << one.seed
                    << " begins with it)\n"
                    << failure.text << "\nminimised: " << write_minimised(one, failure, name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, KernelFuzz, testing::Range(0U, kGraphs / kGraphsPerTest));

/// A failure that does not reproduce cannot be minimised, so the graph is written unchanged.
TEST(FuzzFailures, WritesFailingGraphToFile) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "sinter_fuzz_failures";
  std::filesystem::remove_all(folder);
  setenv("SINTER_FUZZ_OUT", folder.c_str(), 1);
  const FuzzCase failing{.random = {.graph = parse("graph f(x: f32[n]) {\n"
                                                   "  y = exp x\n"
                                                   "  return y\n"
                                                   "}\n"),
                                    .symbols = {"n"},
                                    .sizes = {2}},
                         .seed = 7};
  const std::filesystem::path path =
      write_minimised(failing, {.check = "made up", .text = "made up: y[0] is wrong"}, "seed_7");
  unsetenv("SINTER_FUZZ_OUT");
  EXPECT_EQ(path, folder / "seed_7.sinter");
  EXPECT_EQ(read_text(path),
            "// made up: y[0] is wrong\n"
            "// inputs of seed 7\n"
            "// sizes: n = 2\n" +
                print(failing.random.graph));
  std::filesystem::remove_all(folder);
}

/// Also runs every candidate, replays, misaligned pointers, and kernels that the C++ compiler
/// optimises.
class ThoroughFuzz : public testing::TestWithParam<unsigned> {};

TEST_P(ThoroughFuzz, AllFormsGiveEqualBits) {
  const std::vector<unsigned> seeds = seeds_of(GetParam(), 1, kThoroughGraphs);
  ASSERT_FALSE(seeds.empty()) << "SINTER_FUZZ_ROUNDS is 0";
  log_line(seeds);
  for (const unsigned seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomGraph random = fuzz_case(seed).random;
    std::vector<Size> sizes;
    for (std::size_t i = 0; i < random.symbols.size(); ++i)
      sizes.push_back({random.symbols[i], random.sizes[i]});
    run_and_check(random.graph, sizes, {.seed = seed, .misaligned = seed % 4 == 0});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ThoroughFuzz, testing::Range(0U, kThoroughGraphs));

}  // namespace
}  // namespace sinter::test::kernel_fuzz_test
