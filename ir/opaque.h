// Inside of opaque calls: what their nodes say, and the functions that are registered.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/node.h"
#include "sinter/opaque.h"

namespace sinter {

/// Each result of a call is a node: all are equal but for the attribute `result`.
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

/// `alpha = 0.5, mode = "fast"`, by name.
std::string options_text(std::span<const OpaqueAttribute> attributes);
std::vector<OpaqueAttribute> options_of(const Node& node);

/// The function that is registered as `name`; null if there is none.
std::shared_ptr<const OpaqueFunction> find_opaque(std::string_view name);
/// The names of all that are, in alphabetical order.
std::vector<std::string> registered_names();
/// That of `node`; throws UserError, which says what to do, if there is none.
std::shared_ptr<const OpaqueFunction> registered_function(const GraphData& graph, const Node& node);

}  // namespace sinter
