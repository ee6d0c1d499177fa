// Inside of opaque calls: what their nodes say, and the functions that are registered.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/opaque_node.h"
#include "sinter/opaque.h"

namespace sinter {

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
