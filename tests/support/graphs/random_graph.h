// Random graphs over every op of the op table, for tests that check whole runs.
#pragma once

#include "sinter/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::test {

/// A graph and the sizes of its symbols.
struct RandomGraph {
  Graph graph;
  std::vector<std::string> symbols;
  std::vector<std::int64_t> sizes;  ///< of the symbols, in their order
};

/// Records about `ops` ops: elementwise ops, casts, reductions over any axes or over rows and
/// columns of one value, scans, views, concats of slices, gathers. Also records lists of equal
/// tensors, and updates. Inputs have many dtypes, and some are strided, empty or of symbolic
/// extents. There are several results of different shapes. Equal seeds give equal graphs.
RandomGraph random_graph(unsigned seed, int ops);

}  // namespace sinter::test
