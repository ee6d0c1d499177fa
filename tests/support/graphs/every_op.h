// Graphs with every op of the op table that accepts one dtype.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"

#include <vector>

namespace sinter::test {

/// All dtypes that ops compute with.
std::vector<DType> computing_dtypes();

/// Every elementwise op and reduction that accepts `dtype`, over vectors of `elements`. Also scans,
/// casts to every dtype, gathers, flips and scatters.
Graph every_op(DType dtype, std::int64_t elements);

struct GraphWithInputs {
  Graph graph;
  HostArrays inputs;
};

/// Every elementwise op that accepts `dtype`, and casts to every dtype. The operands a, b and c are
/// numbers at which formulas tend to fail, such as infinities and the largest number. The pairs
/// (a, b) are all pairs of them.
GraphWithInputs every_op_on_special_values(DType dtype);
/// Fails the running test for each of `results` with an element beyond the oracle's bound, and
/// shows the operands of the element.
void expect_special_values_within_bounds(const GraphWithInputs& special, const HostArrays& results);

}  // namespace sinter::test
