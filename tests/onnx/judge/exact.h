// Results without the rounding of narrow dtypes, to judge expected numbers that are inexact.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"

namespace sinter::test {

/// The outputs of `graph` if all its floating values were f64, by the oracle, in f64. Throws an
/// exception if the graph depends on a floating dtype in another way, such as by its bits.
HostArrays exact_results(const Graph& graph, const HostArrays& inputs);

}  // namespace sinter::test
