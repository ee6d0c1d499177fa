// The numerics contract for the whole op table on the host device. Each op, dtype and layout is
// within the oracle's bound, and so are special values. Constants give the bits of loaded values.
#include "ir/record/record.h"
#include "tests/support/graphs/every_op.h"
#include "tests/support/run/run.h"

#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::test::op_table_host_test {
namespace {

class OpTable : public testing::TestWithParam<DType> {};

/// A computation gives the same bits on a constant and on a loaded value. Compilers must not fold
/// it to other bits than the math library returns.
TEST_P(OpTable, ConstantsMatchLoadedValues) {
  const DType dtype = GetParam();
  if (dtype == boolean) return;
  Graph graph(std::string("numbers_") + std::string(name(dtype)));
  std::vector<std::pair<std::string, std::string>> pairs;
  int inputs = 0;
  for (const double number : {2.0, 0.3}) {
    if (is_integer(dtype) && number != std::floor(number)) continue;
    for (const OpInfo& row : op_table()) {
      if (row.kind != OpKind::elementwise || !supports_dtype(row.types, dtype)) continue;
      if (row.types == TypeRule::Where) continue;
      const std::string text = fmt::format("{}_{}", row.name, inputs++);
      std::vector<Operand> numbers, loaded;
      for (int i = 0; i < row.arity; ++i) {
        numbers.push_back(full(graph, {5}, number, dtype));
        loaded.push_back(graph.input(fmt::format("{}_x{}", text, i), dtype, {5},
                                     {.low = number, .high = number}));
      }
      graph.output(text + "_number", record_elementwise(row.op, numbers));
      graph.output(text + "_loaded", record_elementwise(row.op, loaded));
      pairs.emplace_back(text + "_number", text + "_loaded");
    }
  }
  // Narrow floats are computed in f32, so the f32 case already covers the optimiser.
  const bool optimized = info(dtype).compute == dtype;
  const RunResult result = run_and_check(graph, {}, {.candidates = false, .optimized = optimized});
  for (const auto& [number, loaded] : pairs)
    EXPECT_TRUE(equal_bits(result.results.at(number), result.results.at(loaded))) << number;
}

/// Each elementwise op that supports the dtype, on loaded operands and with a literal.
TEST_P(OpTable, EveryOpMatchesTheOracle) {
  const DType dtype = GetParam();
  Graph graph(std::string("rows_") + std::string(name(dtype)));
  const Tensor condition = graph.input("condition", boolean, {37});
  const Tensor a = graph.input("a", dtype, {37});
  const Tensor b = graph.input("b", dtype, {37});
  const Tensor c = graph.input("c", dtype, {37});
  const Operand literal = dtype == boolean ? Operand(true) : Operand(2);
  for (const OpInfo& row : op_table()) {
    if (row.kind != OpKind::elementwise || !supports_dtype(row.types, dtype)) continue;
    const Operand first = row.types == TypeRule::Where ? condition : a;
    const Operand loaded[] = {first, b, c};
    const auto arity = static_cast<std::size_t>(row.arity);
    const std::string text(row.name);
    graph.output(text, record_elementwise(row.op, {loaded, arity}));
    if (arity == 1) continue;
    Operand mixed[] = {first, b, c};
    mixed[arity - 1] = literal;
    graph.output(text + "_literal", record_elementwise(row.op, {mixed, arity}));
  }
  run_and_check(graph, {}, {.candidates = false});
}

INSTANTIATE_TEST_SUITE_P(DTypes, OpTable, testing::ValuesIn(computing_dtypes()),
                         [](const auto& test) { return std::string(name(test.param)); });

/// In addition to the contiguous layout of odd length above.
enum class Layout { permuted, broadcast, sliced, scalar, empty };
constexpr std::string_view kLayoutNames[] = {"permuted", "broadcast", "sliced", "scalar", "empty"};

/// Operand `position` of an op in the layout.
Tensor operand_in(Graph& graph, Layout layout, DType dtype, int position) {
  const std::string name(1, static_cast<char>('a' + position));
  switch (layout) {
    case Layout::permuted: return graph.input(name, dtype, {6, 8}, {.strides = {1, 6}});
    case Layout::broadcast:
      if (position == 1) return graph.input(name, dtype, {1, 7});
      return graph.input(name, dtype, {5, 7},
                         {.strides = {position == 0 ? 1 : 0, position == 0 ? 0 : 1}});
    case Layout::sliced: return slice(graph.input(name, dtype, {4, 20}), 1, 3, 19, 2);
    case Layout::scalar: return graph.input(name, dtype, {});
    case Layout::empty: return graph.input(name, dtype, {0, 5});
  }
  return {};
}

class OpLayouts : public testing::TestWithParam<std::tuple<Layout, DType>> {};

TEST_P(OpLayouts, EveryOpMatchesTheOracle) {
  const auto [layout, dtype] = GetParam();
  Graph graph(fmt::format("{}_{}", kLayoutNames[static_cast<int>(layout)], name(dtype)));
  const Tensor operands[] = {operand_in(graph, layout, dtype, 0),
                             operand_in(graph, layout, dtype, 1),
                             operand_in(graph, layout, dtype, 2)};
  const Tensor condition = operand_in(graph, layout, boolean, 3);
  for (const OpInfo& row : op_table()) {
    if (row.kind != OpKind::elementwise || !supports_dtype(row.types, dtype)) continue;
    const Operand all[] = {row.types == TypeRule::Where ? condition : operands[0], operands[1],
                           operands[2]};
    graph.output(std::string(row.name),
                 record_elementwise(row.op, {all, static_cast<std::size_t>(row.arity)}));
  }
  run_and_check(graph, {}, {.candidates = false});
}

std::string layout_name(const testing::TestParamInfo<std::tuple<Layout, DType>>& test) {
  return fmt::format("{}_{}", kLayoutNames[static_cast<int>(std::get<0>(test.param))],
                     name(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Layouts, OpLayouts,
                         testing::Combine(testing::Values(Layout::permuted, Layout::broadcast,
                                                          Layout::sliced, Layout::scalar,
                                                          Layout::empty),
                                          testing::ValuesIn(computing_dtypes())),
                         layout_name);

/// If a compiler proves that a value is one of two constants, it must not evaluate functions of
/// them at compile time.
TEST(OpTableTest, ValuesProvenConstantMatchLoadedValues) {
  Graph graph("found");
  const Tensor x = graph.input("x", f32, {64}, {.low = -4, .high = 4});
  const Tensor cut = minimum(maximum(cast(cast(x, i32), f32), -1.0), 1.0);
  for (const OpInfo& row : op_table())
    if (row.kind == OpKind::elementwise && row.ulp > 0) {
      const Operand operands[] = {cut, cut};
      graph.output(std::string(row.name),
                   record_elementwise(row.op, {operands, static_cast<std::size_t>(row.arity)}));
    }
  run_and_check(
      graph, {},
      {.candidates = false, .optimized = true});  // fused, and unfused with all values loaded
}

class SpecialValues : public testing::TestWithParam<DType> {};

TEST_P(SpecialValues, EveryOpMatchesTheOracle) {
  const GraphWithInputs special = every_op_on_special_values(GetParam());
  const RunResult run = run_graph(special.graph, host_device(), special.inputs, {});
  expect_special_values_within_bounds(special, run.results);
}

INSTANTIATE_TEST_SUITE_P(DTypes, SpecialValues, testing::ValuesIn(computing_dtypes()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace sinter::test::op_table_host_test
