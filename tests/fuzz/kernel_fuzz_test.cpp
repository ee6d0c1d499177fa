// Random graphs through the whole of sinter: the oracle's bounds, the same bits in every form, the
// predicted bytes. SINTER_FUZZ_ROUNDS=N in the environment asks for N times as many graphs.
#include "tests/support/random_graph.h"
#include "tests/support/run.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::test {
namespace {

void run_seed(unsigned seed) {
  const RandomGraph random = random_graph(seed, /*ops=*/4 + static_cast<int>(seed % 12));
  std::vector<Size> sizes;
  for (std::size_t i = 0; i < random.symbols.size(); ++i)
    sizes.push_back({random.symbols[i], random.sizes[i]});
  SCOPED_TRACE("seed " + std::to_string(seed));
  run_and_check(random.graph, sizes, {.seed = seed, .misaligned = seed % 4 == 0});
}

constexpr unsigned kSeeds = 32;

class KernelFuzz : public testing::TestWithParam<unsigned> {};

TEST_P(KernelFuzz, RunsRight) {
  const char* text = std::getenv("SINTER_FUZZ_ROUNDS");
  const unsigned rounds = text ? static_cast<unsigned>(std::atoi(text)) : 1;
  ASSERT_GE(rounds, 1U) << "SINTER_FUZZ_ROUNDS is " << text;
  for (unsigned round = 0; round < rounds; ++round) run_seed(round * kSeeds + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, KernelFuzz, testing::Range(0U, kSeeds));

}  // namespace
}  // namespace sinter::test
