// Which values of a graph are weights, and which operands of its products are.
#pragma once

#include "ir/graph/node.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// By node id: true for values that depend on at least one of the inputs `weights`, and on no other
/// input. Throws UserError in the name of `function` for an unknown weight, or one that the graph
/// updates.
std::vector<bool> weight_values(const GraphData& graph, std::span<const std::string> weights,
                                std::string_view function);

/// True for matrix products and convolutions of operands in f16, bf16 or f32.
bool is_floating_product(const Node& node);

/// The operands of floating products that are no weights, each once, in the order of the graph.
std::vector<const Node*> activations_of_products(const GraphData& graph,
                                                 const std::vector<bool>& is_weight);

}  // namespace sinter
