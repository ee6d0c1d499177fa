// The attributes of opaque calls, and the registry of functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/opaque_node.h"
#include "sinter/opaque.h"

namespace sinter {

/// True for the name of a library op, which is the name of its function.
inline bool is_library_name(std::string_view name) {
  const OpInfo* const row = find_op(name);
  return row && row->kind == OpKind::library;
}
/// True for the name of a collective.
inline bool is_collective_name(std::string_view name) {
  const OpInfo* const row = find_op(name);
  return row && is_collective(row->op);
}
/// Registers the function of the library op `name`, or replaces it.
void register_library_function(std::string_view name, OpaqueFunction function);

/// The text of attributes, sorted by name: `alpha = 0.5, mode = "fast", pads = [1, 2]`.
std::string options_text(std::span<const OpaqueAttribute> attributes);
/// The attributes of the call of `node`. Those of a library op are its integers and lists.
std::vector<OpaqueAttribute> options_of(const Node& node);

/// The function registered as `name`; null if there is none.
std::shared_ptr<const OpaqueFunction> find_opaque(std::string_view name);
/// The names of all registered functions, for messages: `, only gemm, topk`; empty if there are
/// none.
std::string registered_names_text();
/// The function that `node` calls. Throws UserError if it is not registered.
std::shared_ptr<const OpaqueFunction> registered_function(const GraphData& graph, const Node& node);

}  // namespace sinter
