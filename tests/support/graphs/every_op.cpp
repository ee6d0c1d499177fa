#include "tests/support/graphs/every_op.h"

#include "ir/record/record.h"
#include "sinter/views.h"

#include <fmt/format.h>

namespace sinter::test {

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
    if (to.dtype != dtype && has_bits && to.size == size_of(dtype))
      graph.output(fmt::format("bits_{}", to.name), bitcast(a, to.dtype));
  }
  graph.output("taken", take(a, indices, 0));
  graph.output("backwards", where(condition, flip(a, {0}), b));
  graph.output("put", index_put(rows, b, std::vector<Operand>{indices}, {1}));
  if (dtype != boolean) graph.output("added", scatter_add(a, 0, indices, b));
  return graph;
}

}  // namespace sinter::test
