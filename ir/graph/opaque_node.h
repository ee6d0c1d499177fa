// Accessors for the nodes of opaque calls. Each result of a call is a node. The nodes of one call
// differ only in the attribute `result`, and in the dtype and shape of that result. A library op is
// an opaque call, too: it has one result, and its function has the name of the op.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

/// True for calls of the user's functions and for library ops.
inline bool is_opaque(const Node& node) { return node.op == Op::opaque || is_library(node.op); }
/// The name of the called function.
std::string_view function_of(const Node& node);
/// The index of the result that `node` is.
inline std::size_t result_number(const Node& node) {
  if (is_library(node.op)) return 0;
  return static_cast<std::size_t>(attribute(node, "result").integer);
}
/// True if both nodes are results of one call.
bool is_same_call(const Node& a, const Node& b);
/// The results of the call of `node`, by index; nullptr if `graph` has no node of a result.
std::vector<const Node*> results_of_call(const GraphData& graph, const Node& node);

/// The type of one result.
struct ResultType {
  DType dtype;
  std::span<const Extent> shape;
};
/// The types of all results of the call of `node`.
std::vector<ResultType> result_types(const Node& node);

}  // namespace sinter
