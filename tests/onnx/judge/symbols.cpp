#include "tests/onnx/judge/symbols.h"

#include <algorithm>

#include "ir/graph/node.h"
#include "ir/verify/symbol_sizes.h"

namespace sinter::test {

std::vector<std::int64_t> solved_symbols(const Graph& graph, const HostArrays& inputs) {
  std::vector<InputShape> shapes;
  for (const auto& [name, values] : inputs) shapes.push_back({name, values.shape()});
  const std::size_t count = graph.data().extents->symbols().size();
  std::vector<std::int64_t> symbols =
      solve_symbols(graph.data(), shapes, std::vector<std::int64_t>(count, kUnknownSize));
  for (std::int64_t& size : symbols) size = std::max<std::int64_t>(size, 0);
  check_sizes(graph, symbols);
  return symbols;
}

}  // namespace sinter::test
