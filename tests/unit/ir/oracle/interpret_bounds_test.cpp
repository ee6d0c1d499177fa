// The oracle's error bounds, compared with a simulated device that makes the largest allowed
// errors. All its results must be within the bounds, and the bounds must not be too wide.
#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "ir/oracle/random_inputs.h"
#include "tests/support/doubles/simulated_device.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sinter::interpret_bounds_test {
namespace {

using simulated::Device;
using simulated::pick;
using simulated::Random;

/// A random graph over x: f32[rows, columns] and h: half[rows, columns].
class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, std::int64_t rows, std::int64_t columns) : random_(seed) {
    pool_.push_back(graph.input("x", f32, {rows, columns}));
    pool_.push_back(graph.input("h", random_() % 2 ? bf16 : f16, {rows, columns}));
    for (int i = 0; i < 12; ++i) pool_.push_back(next());
    for (std::size_t i = 2; i < pool_.size(); ++i) outputs.push_back(pool_[i]);
  }

  Graph graph{"random"};
  std::vector<Tensor> outputs;

 private:
  Tensor any() {
    return pool_[static_cast<std::size_t>(pick(random_, static_cast<std::int64_t>(pool_.size())))];
  }

  Tensor next() {
    const Tensor a = any();
    const Tensor b = cast(any(), a.dtype());
    const Tensor c = cast(any(), a.dtype());
    const std::int64_t axis = pick(random_, 2);
    switch (pick(random_, 19)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return a / (abs(b) + 0.5);
      case 4: return maximum(a, b);
      case 5: return fma(a, b, c);
      case 6: return where(a < b, b, c);
      case 7: return tanh(a);
      case 8: return exp(tanh(a) * 3.0);
      case 9: return log(abs(a) + 0.1);
      case 10: return sqrt(abs(a));
      case 11: return rsqrt(a * a + 1e-3);
      case 12: return erf(a);
      case 13: return sum(a, {axis}, keep);
      case 14: return mean(a, {axis}, keep);
      case 15: return axis == 0 ? max(a, {1}, keep) : min(a, {0}, keep);
      case 16: return var(a, {axis}, 0, keep);
      case 17: return logsumexp(a, {axis}, keep);
      default: return cast(a, a.dtype() == f32 ? f16 : f32);
    }
  }

  Random random_;
  std::vector<Tensor> pool_;
};

struct Tally {
  std::int64_t elements = 0;
  std::int64_t undecided = 0;
  double worst = 0;
};

void check_outputs(Graph& graph, std::span<const Tensor> outputs, std::uint64_t seed,
                   Tally& tally) {
  const HostArrays inputs = random_inputs(graph, {}, seed);
  const Device device(graph, inputs, seed);
  std::vector<const Node*> nodes;
  for (const Tensor& output : outputs) nodes.push_back(output.node());
  const std::vector<Expected> expected = interpret_nodes(graph.data(), inputs, {}, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const CheckResult result = check(expected[i], device.value(nodes[i]));
    EXPECT_TRUE(result.passes()) << "seed " << seed << ", "
                                 << describe(info(nodes[i]->op).name, result);
    tally.elements += result.elements;
    tally.undecided += result.undecided;
    tally.worst = std::max(tally.worst, result.worst);
  }
}

class BoundsTest : public testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(BoundsTest, CoverTheWorstDevice) {
  const std::int64_t rows = GetParam()[0];
  const std::int64_t columns = GetParam()[1];
  const std::int64_t graphs = 20000 / (rows * columns) + 3;
  Tally tally;
  for (std::int64_t seed = 0; seed < graphs; ++seed) {
    RandomGraph random(static_cast<std::uint64_t>(seed), rows, columns);
    check_outputs(random.graph, random.outputs, static_cast<std::uint64_t>(seed), tally);
  }
  // Otherwise the check has no significance.
  EXPECT_LT(tally.undecided, tally.elements / 20);
  EXPECT_GT(tally.worst, 0.5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BoundsTest,
    testing::Values(std::vector<std::int64_t>{4, 7}, std::vector<std::int64_t>{2, 600},
                    std::vector<std::int64_t>{2, 9000}, std::vector<std::int64_t>{2500, 3}),
    [](const auto& test) {
      return std::to_string(test.param[0]) + "x" + std::to_string(test.param[1]);
    });

/// The worst error/bound of one reduction of random numbers.
double worst_of(Tensor (*record)(Tensor), std::int64_t columns) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Graph graph("one");
    const Tensor output = record(graph.input("x", f32, {3, columns}));
    check_outputs(graph, {&output, 1}, seed, tally);
  }
  return tally.worst;
}

TEST(BoundsWidthTest, AreNotTooWide) {
  for (const std::int64_t columns : {8, 500, 9000}) {
    EXPECT_GT(worst_of([](Tensor x) { return sum(x, {1}); }, columns), 1e-3) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return mean(x * x, {1}); }, columns), 1e-3) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return var(x, {1}); }, columns), 1e-4) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return var(x + 100.0, {1}); }, columns), 1e-4) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return max(exp(x), {1}); }, columns), 0.5) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return logsumexp(x, {1}); }, columns), 1e-2) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return softmax(x); }, columns), 1e-2) << columns;
  }
}

}  // namespace
}  // namespace sinter::interpret_bounds_test
