#include "tests/support/graphs/every_op.h"

#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "ir/record/record.h"
#include "ir/types/casts.h"
#include "sinter/views.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::test {

namespace {

/// Values at which formulas tend to fail.
std::vector<long double> special_values(DType dtype) {
  if (dtype == boolean) return {0, 1};
  if (is_integer(dtype)) {
    const auto low = static_cast<long double>(lowest_integer(dtype));
    const auto high = static_cast<long double>(highest_integer(dtype));
    std::vector<long double> values = {low, low + 1, high, high - 1, 0,  1,  2,
                                       3,   7,       8,    31,       32, 63, 64};
    if (is_signed(dtype)) values.insert(values.end(), {-1, -2, -7, -64});
    return values;
  }
  const DTypeInfo& row = info(dtype);
  const long double smallest = std::ldexp(1.0L, row.min_exponent);
  const long double subnormal = std::ldexp(smallest, 1 - row.mantissa_bits);
  std::vector<long double> values;
  for (const long double magnitude :
       {0.0L, 0.25L, 0.5L, 1.0L, 1.5L, 2.0L, 3.0L, 7.0L, subnormal, smallest - subnormal, smallest,
        largest_finite(dtype), std::numeric_limits<long double>::infinity()}) {
    values.push_back(magnitude);
    values.push_back(-magnitude);
  }
  values.push_back(std::numeric_limits<long double>::quiet_NaN());
  return values;
}

}  // namespace

std::vector<DType> computing_dtypes() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& row : kDTypes)
    if (row.dtype != c64) dtypes.push_back(row.dtype);
  return dtypes;
}

Graph every_op(DType dtype, std::int64_t elements) {
  Graph graph(fmt::format("every_op_{}", name(dtype)));
  const Tensor condition = graph.input("condition", boolean, {elements});
  const Tensor a = graph.input("a", dtype, {elements});
  const Tensor b = graph.input("b", dtype, {elements});
  const Tensor c = graph.input("c", dtype, {elements});
  const Tensor rows = graph.input("rows", dtype, {6, elements});
  const Tensor indices = graph.input("indices", i32, {elements});
  for (const OpInfo& row : op_table()) {
    const std::string name(row.name);
    if (row.kind == OpKind::elementwise && supports_dtype(row.types, dtype)) {
      const Operand operands[] = {row.types == TypeRule::Where ? condition : a, b, c};
      graph.output(name,
                   record_elementwise(row.op, {operands, static_cast<std::size_t>(row.arity)}));
    }
    if (row.kind == OpKind::scan)
      for (const std::int64_t axis : {0, 1})
        graph.output(fmt::format("{}_{}", name, axis), record_scan(row.op, rows, axis, {}));
    if (row.kind != OpKind::reduction) continue;
    ReductionOptions options;
    if (row.op == Op::var) options.correction = 1;
    for (const std::int64_t axis : {0, 1})
      graph.output(fmt::format("{}_{}", name, axis),
                   record_reduction(row.op, rows, {&axis, 1}, options));
  }
  for (const DTypeInfo& to : kDTypes) {
    if (to.dtype != dtype) graph.output(fmt::format("to_{}", to.name), cast(a, to.dtype));
    const bool has_bits = dtype != boolean && to.dtype != boolean && to.dtype != c64;
    if (to.dtype == dtype || !has_bits || to.size != size_of(dtype)) continue;
    graph.output(fmt::format("bits_{}", to.name), bitcast(a, to.dtype));
  }
  graph.output("taken", take(a, indices, 0));
  graph.output("backwards", where(condition, flip(a, {0}), b));
  graph.output("put", index_put(rows, b, std::vector<Operand>{indices}, {1}));
  if (dtype != boolean) graph.output("added", scatter_add(a, 0, indices, b));
  return graph;
}

GraphWithInputs every_op_on_special_values(DType dtype) {
  const std::vector<long double> values = special_values(dtype);
  const auto count = static_cast<std::int64_t>(values.size());
  // All pairs of values; the third operand cycles.
  const std::int64_t pairs = count * count;
  Graph graph(fmt::format("special_{}", name(dtype)));
  HostArrays inputs;
  Tensor operands[3];
  for (int position = 0; position < 3; ++position) {
    const std::string name(1, static_cast<char>('a' + position));
    operands[position] = graph.input(name, dtype, {pairs});
    HostArray array(dtype, {pairs});
    for (std::int64_t i = 0; i < pairs; ++i) {
      const std::int64_t chosen = position == 0   ? i / count
                                  : position == 1 ? i % count
                                                  : i * 5 % 7 % count;
      const long double value = values[static_cast<std::size_t>(chosen)];
      if (is_floating(dtype))
        array.set_real_at(i, value);
      else
        array.set_integer_at(i, to_storage_bits(static_cast<Wide>(value)));
    }
    inputs.emplace(name, std::move(array));
  }
  for (const OpInfo& row : op_table()) {
    if (row.kind != OpKind::elementwise || !supports_dtype(row.types, dtype)) continue;
    const Operand all[] = {row.types == TypeRule::Where ? Operand(ne(operands[0], 0)) : operands[0],
                           operands[1], operands[2]};
    graph.output(std::string(row.name),
                 record_elementwise(row.op, {all, static_cast<std::size_t>(row.arity)}));
  }
  for (const DTypeInfo& to : kDTypes)
    if (to.dtype != dtype) graph.output(fmt::format("to_{}", to.name), cast(operands[0], to.dtype));
  return {std::move(graph), std::move(inputs)};
}

void expect_special_values_within_bounds(const GraphWithInputs& special,
                                         const HostArrays& results) {
  const Interpretation expected = interpret(special.graph, special.inputs, {});
  for (const auto& [name, value] : expected.outputs) {
    const CheckResult result = check(value, results.at(name));
    if (result.passes()) continue;
    const std::int64_t bad = result.first_bad->index[0];
    ADD_FAILURE() << describe(name, result) << "\na = " << special.inputs.at("a").real_at(bad)
                  << ", b = " << special.inputs.at("b").real_at(bad)
                  << ", c = " << special.inputs.at("c").real_at(bad);
  }
}

}  // namespace sinter::test
