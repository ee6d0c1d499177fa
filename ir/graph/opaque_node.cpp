// Queries of the nodes of opaque calls.
#include "ir/graph/opaque_node.h"

#include <algorithm>

namespace sinter {

std::string_view function_of(const Node& node) {
  return is_library(node.op) ? info(node.op).name : attribute(node, "function").text;
}

bool is_same_call(const Node& a, const Node& b) {
  if (a.op != Op::opaque || b.op != Op::opaque) return &a == &b && is_opaque(a);
  return std::ranges::equal(a.operands, b.operands) &&
         function_of(a) == function_of(b) &&
         attribute(a, "options").text == attribute(b, "options").text &&
         std::ranges::equal(attribute(a, "dtypes").integers, attribute(b, "dtypes").integers) &&
         std::ranges::equal(attribute(a, "ranks").integers, attribute(b, "ranks").integers) &&
         std::ranges::equal(attribute(a, "shapes").extents, attribute(b, "shapes").extents);
}

std::vector<ResultType> result_types(const Node& node) {
  if (is_library(node.op)) return {{.dtype = node.dtype, .shape = node.shape}};
  const std::span<const std::int64_t> dtypes = attribute(node, "dtypes").integers;
  const std::span<const std::int64_t> ranks = attribute(node, "ranks").integers;
  std::span<const Extent> shapes = attribute(node, "shapes").extents;
  std::vector<ResultType> types;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks[i]);
    types.push_back({.dtype = static_cast<DType>(dtypes[i]), .shape = shapes.first(rank)});
    shapes = shapes.subspan(rank);
  }
  return types;
}

std::vector<const Node*> results_of_call(const GraphData& graph, const Node& node) {
  if (is_library(node.op)) return {&node};
  std::vector<const Node*> results;
  std::vector<Attribute> attributes(node.attributes.begin(), node.attributes.end());
  const auto number = &attribute(node, "result") - node.attributes.data();
  for (const ResultType& type : result_types(node)) {
    attributes[static_cast<std::size_t>(number)].integer =
        static_cast<std::int64_t>(results.size());
    results.push_back(graph.find({.op = Op::opaque,
                                  .dtype = type.dtype,
                                  .operands = node.operands,
                                  .shape = type.shape,
                                  .attributes = attributes}));
  }
  return results;
}

}  // namespace sinter
