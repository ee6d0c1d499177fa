// Folds and simplifies random graphs of exact ops. The passes must keep all bits, reach a fixed
// point in one run, and not increase the number of ops.
#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/simplify.h"
#include "ir/oracle/interpret.h"
#include "ir/record/record.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"
#include "tests/support/graphs/oracle_support.h"

#include <cstdio>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sinter::simplify_fuzz_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kRows = 3;
constexpr std::int64_t kColumns = 4;

/// Records ops at random over a pool of values.
class Recorder {
 public:
  explicit Recorder(unsigned seed) : random_(seed) {
    dtype_ = pick<DType>({f32, f64, f16, bf16, i32, i64});
    for (const std::string name : {"a", "b", "c"}) add_input(name);
    for (int i = 0; i < 30; ++i) add_op();
    for (int i = 0; i < 3; ++i)
      graph.output("out" + std::to_string(i),
                   values_[values_.size() - 1 - static_cast<std::size_t>(i)]);
    if (!conditions_.empty()) graph.output("condition", conditions_.back());
  }

  Graph graph{"fuzz"};
  HostArrays inputs;

 private:
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[random_() % choices.size()];
  }
  Tensor pick(const std::vector<Tensor>& from) { return from[random_() % from.size()]; }

  double special() {
    if (!is_floating(dtype_)) return pick<double>({0, 1, -1, 2, 7, 2147483647});
    return pick<double>(
        {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 0.1, -8.0, kInfinity, -kInfinity, kNan, 3e4});
  }

  void add_input(const std::string& name) {
    std::vector<double> values(kRows * kColumns);
    for (double& value : values) value = special();
    inputs[name] = array(dtype_, {kRows, kColumns}, values);
    values_.push_back(graph.input(name, dtype_, {kRows, kColumns}));
  }

  /// A value, or a number as a literal, a full tensor, a scalar tensor or a broadcast row.
  Operand operand() {
    switch (random_() % 8) {
      case 0: return {number(), {}};
      case 1: return full(graph, {kRows, kColumns}, special(), dtype_);
      case 2: return full(graph, {}, special(), dtype_);
      case 3: return broadcast_to(slice(pick(values_), 0, 1, 2), {kRows, kColumns});
      default: return pick(values_);
    }
  }
  Literal number() {
    const double value = special();
    if (is_floating(dtype_)) return {.kind = Literal::Kind::real, .real = value};
    return {.kind = Literal::Kind::integer, .integer = static_cast<std::int64_t>(value)};
  }
  Tensor condition() {
    if (conditions_.empty() || random_() % 4 == 0)
      return full(graph, {kRows, kColumns}, static_cast<double>(random_() % 2), boolean);
    return pick(conditions_);
  }

  void keep(Tensor value) {
    if (value.rank() == 2) values_.push_back(value);
  }

  void add_op() {
    switch (random_() % 6) {
      case 0: return add_unary();
      case 1: return add_comparison();
      case 2: return keep(where(condition(), pick(values_), operand()));
      case 3: return add_view();
      case 4: return add_cast();
      default: return add_binary();
    }
  }

  void add_unary() {
    const Tensor x = pick(values_);
    keep(random_() % 2 ? neg(x) : abs(x));
    if (is_floating(dtype_) && random_() % 2) keep(floor(pick(values_)));
  }

  void add_binary() {
    const Tensor x = pick(values_);
    const Operand y = operand();
    const bool swap = random_() % 2;
    const auto apply = [&](auto op) { keep(swap ? op(y, x) : op(x, y)); };
    switch (random_() % (is_floating(dtype_) ? 7 : 5)) {
      case 0: return apply([](Operand a, Operand b) { return add(a, b); });
      case 1: return apply([](Operand a, Operand b) { return sub(a, b); });
      case 2: return apply([](Operand a, Operand b) { return mul(a, b); });
      case 3: return apply([](Operand a, Operand b) { return maximum(a, b); });
      case 4: return apply([](Operand a, Operand b) { return minimum(a, b); });
      case 5: return apply([](Operand a, Operand b) { return div(a, b); });
      default: return keep(fma(x, y, operand()));
    }
  }

  void add_comparison() {
    const Tensor x = pick(values_);
    Tensor c = random_() % 2 ? lt(x, operand()) : eq(x, operand());
    if (c.rank() != 2) return;
    if (random_() % 2) c = logical_not(c);
    if (random_() % 2) c = logical_and(c, condition());
    if (random_() % 4 == 0) c = logical_or(c, c);
    conditions_.push_back(c);
  }

  void add_view() {
    const Tensor x = pick(values_);
    switch (random_() % 4) {
      case 0: return keep(permute(reshape(permute(x, {1, 0}), {kRows, kColumns}), {0, 1}));
      case 1: return keep(permute(permute(x, {1, 0}), {1, 0}));
      case 2: return keep(concat({slice(x, 1, 2, 4), slice(x, 1, 0, 2)}, 1));
      default: return keep(slice(slice(concat({x, x, x}, 0), 0, 1, 9, 2), 0, 1, 4));
    }
  }

  void add_cast() {
    const DType to = pick<DType>({f32, f64, f16, bf16, i32, i64, boolean});
    keep(cast(cast(pick(values_), to), dtype_));
  }

  std::mt19937 random_;
  DType dtype_;
  std::vector<Tensor> values_;
  std::vector<Tensor> conditions_;
};

std::int64_t count_ops(const Graph& graph) {
  return std::ranges::count_if(reachable(graph.data()), [](const Node* node) {
    return !is_source(node->op) && node->op != Op::broadcast_to;
  });
}

std::vector<const Node*> results(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const OutputInfo& output : graph.data().outputs) nodes.push_back(output.node);
  return nodes;
}

/// The name of the first output whose bits differ, or "".
std::string first_changed(const Graph& before, const Graph& after, const HostArrays& inputs) {
  const Interpretation expected = interpret(before, inputs, {});
  const Interpretation actual = interpret(after, inputs, {});
  for (const auto& [name, value] : expected.outputs)
    if (!equal_bits(to_array(value), to_array(actual.outputs.at(name)))) return name;
  return "";
}

class SimplifyFuzzTest : public testing::TestWithParam<unsigned> {};

TEST_P(SimplifyFuzzTest, KeepsAllBits) {
  constexpr unsigned kGraphsPerTest = 100;
  const unsigned first = GetParam() * kGraphsPerTest;
  std::printf("graphs of seeds %u to %u\n", first, first + kGraphsPerTest - 1);
  for (unsigned seed = first; seed < first + kGraphsPerTest; ++seed) {
    const Recorder recorder(seed);
    Graph graph = clone(recorder.graph);
    fold(graph.data());
    simplify(graph.data());
    ASSERT_NO_THROW(verify(graph)) << "seed " << seed << "\n" << print(recorder.graph);
    ASSERT_EQ(first_changed(recorder.graph, graph, recorder.inputs), "")
        << "seed " << seed << "\n"
        << print(recorder.graph) << print(graph);
    ASSERT_LE(count_ops(graph), count_ops(recorder.graph)) << "seed " << seed;
    const std::vector<const Node*> once = results(graph);
    simplify(graph.data());
    fold(graph.data());
    ASSERT_EQ(results(graph), once) << "seed " << seed << "\n" << print(recorder.graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimplifyFuzzTest, testing::Range(0U, 8U));

}  // namespace
}  // namespace sinter::simplify_fuzz_test
