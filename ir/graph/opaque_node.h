// Reads the nodes of opaque calls. Each result of a call is a node; the nodes of one call differ in
// the attribute `result` alone.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

inline bool is_opaque(const Node& node) { return node.op == Op::opaque; }
std::string_view function_of(const Node& node);
inline std::size_t result_number(const Node& node) {
  return static_cast<std::size_t>(attribute(node, "result").integer);
}
bool is_same_call(const Node& a, const Node& b);
/// By number; nullptr for those that `graph` has no node of.
std::vector<const Node*> results_of_call(const GraphData& graph, const Node& node);

/// The types of all results of the call that `node` is one of.
struct ResultType {
  DType dtype;
  std::span<const Extent> shape;
};
std::vector<ResultType> result_types(const Node& node);

}  // namespace sinter
