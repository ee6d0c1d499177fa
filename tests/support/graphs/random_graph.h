// Random graphs over every row of the op table, for tests that judge whole runs.
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

/// Records about `ops` ops: elementwise ones of every row, casts, reductions over any axes and over
/// rows and columns of one value, scans, views, pieces put together, gathers, lists of equal
/// tensors and updates, over inputs of every dtype, some of them strided, empty or of symbolic
/// extents, with several results of other shapes. The same for the same seed.
RandomGraph random_graph(unsigned seed, int ops);

}  // namespace sinter::test
