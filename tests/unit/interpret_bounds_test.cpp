// The oracle's bounds against a device made up here: plain float arithmetic, functions off by as much
// as the op table allows, and sums along the tree over elements in any order. It must always lie
// within the bounds, and the bounds must not be so wide that anything would.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "ir/check.h"
#include "ir/half.h"
#include "ir/interpret.h"
#include "ir/random_inputs.h"
#include "tests/unit/oracle_support.h"

namespace sinter {
namespace {

using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
}

float rounded(DType dtype, float value) {
  if (dtype == f16) return f16_value(f16_bits(value));
  return dtype == bf16 ? bf16_value(bf16_bits(value)) : value;
}

/// One level of the reduction tree of the numerics contract; `identity` starts every accumulator.
template <class State, class Take, class Merge>
State fold_tree(std::span<const float> elements, State identity, Take take, Merge merge) {
  const auto n = static_cast<std::int64_t>(elements.size());
  const std::int64_t chunks = (n + 3) / 4;
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n / 4096)), 1, 1024);
  const std::int64_t k = std::max<std::int64_t>((chunks + parts - 1) / parts, 1);
  const auto width = std::min<std::size_t>(512, std::bit_ceil(static_cast<std::uint64_t>(k)));
  const auto halve = [&](std::vector<State> states) {
    for (std::size_t half = states.size() / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) states[i] = merge(states[i], states[i + half]);
    return states[0];
  };
  std::vector<State> results;
  for (std::int64_t part = 0; part < parts; ++part) {
    std::vector<State> states(width, identity);
    for (std::int64_t i = 4 * part * k; i < std::min(4 * (part + 1) * k, n); ++i) {
      State& state = states[static_cast<std::size_t>((i / 4 - part * k)) % width];
      state = take(state, elements[static_cast<std::size_t>(i)]);
    }
    results.push_back(halve(std::move(states)));
  }
  return halve(std::move(results));
}

float tree_sum(std::span<const float> x) {
  const auto add = [](float a, float b) { return a + b; };
  return fold_tree(x, -0.0F, add, add);
}

struct Moments {
  float count = 0;
  float mean = 0;
  float squares = 0;
};

Moments update(Moments m, float x) {
  const float delta = x - m.mean;
  m.count += 1;
  m.mean += delta / m.count;
  m.squares += delta * (x - m.mean);
  return m;
}

Moments merge(Moments a, Moments b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float count = a.count + b.count;
  const float delta = b.mean - a.mean;
  return {.count = count,
          .mean = a.mean + delta * (b.count / count),
          .squares = a.squares + b.squares + delta * delta * (a.count * (b.count / count))};
}

float two_pass(std::span<const float> x) {
  const float mean = tree_sum(x) / static_cast<float>(x.size());
  std::vector<float> squares;
  for (const float value : x) squares.push_back((value - mean) * (value - mean));
  return tree_sum(squares);
}

float reduce(const Node& node, std::vector<float> x, Random& random) {
  std::shuffle(x.begin(), x.end(), random);
  const auto n = static_cast<float>(x.size());
  switch (node.op) {
    case Op::sum: return tree_sum(x);
    case Op::mean: return tree_sum(x) / n;
    case Op::max: return *std::max_element(x.begin(), x.end());
    case Op::min: return *std::min_element(x.begin(), x.end());
    default: {
      const float deviations =
          random() % 2 ? two_pass(x) : fold_tree(x, Moments{}, update, merge).squares;
      return deviations / n;
    }
  }
}

/// The made-up device: values by node id, of shape [rows or 1, columns or 1].
class Device {
 public:
  Device(const Graph& graph, const HostArrays& inputs, std::uint64_t seed) : random_(seed) {
    for (const Node* node : graph.data().nodes) {
      const std::vector<std::int64_t> shape = shape_of(*node);
      HostArray result(node->dtype, shape);
      if (node->op == Op::input)
        result = inputs.at(graph.data().inputs[static_cast<std::size_t>(node->attributes[0].integer)].name);
      else if (is_reduction(node->op))
        reduce_into(result, *node);
      else
        for (std::int64_t i = 0; i < result.size(); ++i) set(result, i, element(*node, index_of(shape, i)));
      values_.push_back(std::move(result));
    }
  }

  const HostArray& value(const Node* node) const { return values_[node->id]; }

 private:
  static std::vector<std::int64_t> shape_of(const Node& node) {
    std::vector<std::int64_t> shape;
    for (const Extent extent : node.shape) shape.push_back(extent.number());
    return shape;
  }

  static void set(HostArray& array, std::int64_t i, float value) {
    if (array.dtype() == boolean)
      array.set_integer_at(i, value != 0);
    else
      array.set_real_at(i, rounded(array.dtype(), value));
  }

  float element(const Node& node, const std::vector<std::int64_t>& index) {
    if (node.op == Op::constant) return static_cast<float>(as_real(node.attributes[0].literal));
    float x[3] = {};
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const HostArray& operand = values_[node.operand(k)->id];
      std::vector<std::int64_t> at(index.end() - static_cast<std::ptrdiff_t>(operand.shape().size()),
                                   index.end());
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        if (operand.shape()[axis] == 1) at[axis] = 0;
      x[k] = static_cast<float>(operand.real(at));
    }
    return off(apply(node.op, x), info(node.op).ulp);
  }

  static float apply(Op op, const float* x) {
    switch (op) {
      case Op::add: return x[0] + x[1];
      case Op::sub: return x[0] - x[1];
      case Op::mul: return x[0] * x[1];
      case Op::div: return x[0] / x[1];
      case Op::maximum: return std::max(x[0], x[1]);
      case Op::fma: return std::fma(x[0], x[1], x[2]);
      case Op::lt: return x[0] < x[1];
      case Op::where: return x[0] != 0 ? x[1] : x[2];
      case Op::abs: return std::fabs(x[0]);
      case Op::cast: return x[0];
      case Op::sqrt: return std::sqrt(x[0]);
      case Op::exp: return static_cast<float>(std::exp(double{x[0]}));
      case Op::log: return static_cast<float>(std::log(double{x[0]}));
      case Op::tanh: return static_cast<float>(std::tanh(double{x[0]}));
      case Op::erf: return static_cast<float>(std::erf(double{x[0]}));
      case Op::rsqrt: return static_cast<float>(1 / std::sqrt(double{x[0]}));
      default: ADD_FAILURE() << "no " << info(op).name << " here"; return 0;
    }
  }

  /// `value` up to `ulp` neighbours away.
  float off(float value, int ulp) {
    if (value == 0) return value;
    const std::int64_t steps = ulp == 0 ? 0 : pick(random_, 2 * ulp + 1) - ulp;
    for (std::int64_t i = 0; i < std::abs(steps); ++i)
      value = std::nextafter(value, steps < 0 ? -HUGE_VALF : HUGE_VALF);
    return value;
  }

  void reduce_into(HostArray& result, const Node& node) {
    const HostArray& from = values_[node.operand(0)->id];
    const bool rows_go = reduced_axes(node)[0] == 0;
    for (std::int64_t i = 0; i < result.size(); ++i) {
      std::vector<float> group;
      for (std::int64_t k = 0; k < from.shape()[rows_go ? 0 : 1]; ++k) {
        const std::int64_t index[] = {rows_go ? k : i, rows_go ? i : k};
        group.push_back(static_cast<float>(from.real(index)));
      }
      set(result, i, reduce(node, std::move(group), random_));
    }
  }

  Random random_;
  std::vector<HostArray> values_;
};

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
  Tensor any() { return pool_[static_cast<std::size_t>(pick(random_, static_cast<std::int64_t>(pool_.size())))]; }

  Tensor next() {
    const Tensor a = any();
    const Tensor b = cast(any(), a.dtype());
    const Tensor c = cast(any(), a.dtype());
    const std::int64_t axis = pick(random_, 2);
    switch (pick(random_, 18)) {
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

void judge(Graph& graph, std::span<const Tensor> outputs, std::uint64_t seed, Tally& tally) {
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

TEST_P(BoundsTest, HoldADeviceThatDoesItsWorst) {
  const std::int64_t rows = GetParam()[0];
  const std::int64_t columns = GetParam()[1];
  const std::int64_t graphs = 20000 / (rows * columns) + 3;
  Tally tally;
  for (std::int64_t seed = 0; seed < graphs; ++seed) {
    RandomGraph random(static_cast<std::uint64_t>(seed), rows, columns);
    judge(random.graph, random.outputs, static_cast<std::uint64_t>(seed), tally);
  }
  // Otherwise nothing has been judged.
  EXPECT_LT(tally.undecided, tally.elements / 20);
  EXPECT_GT(tally.worst, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BoundsTest,
                         testing::Values(std::vector<std::int64_t>{4, 7},
                                         std::vector<std::int64_t>{2, 600},
                                         std::vector<std::int64_t>{2, 9000},
                                         std::vector<std::int64_t>{2500, 3}),
                         [](const auto& test) {
                           return std::to_string(test.param[0]) + "x" + std::to_string(test.param[1]);
                         });

/// The worst error/bound of one reduction of random numbers.
double worst_of(Tensor (*record)(Tensor), std::int64_t columns) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Graph graph("one");
    const Tensor output = record(graph.input("x", f32, {3, columns}));
    judge(graph, {&output, 1}, seed, tally);
  }
  return tally.worst;
}

TEST(BoundsWidthTest, AreNotAbsurdlyWide) {
  for (const std::int64_t columns : {8, 500, 9000}) {
    EXPECT_GT(worst_of([](Tensor x) { return sum(x, {1}); }, columns), 1e-3) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return mean(x * x, {1}); }, columns), 1e-3) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return var(x, {1}); }, columns), 1e-4) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return var(x + 100.0, {1}); }, columns), 1e-4) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return max(exp(x), {1}); }, columns), 0.5) << columns;
    EXPECT_GT(worst_of([](Tensor x) { return softmax(x); }, columns), 1e-2) << columns;
  }
}

}  // namespace
}  // namespace sinter
