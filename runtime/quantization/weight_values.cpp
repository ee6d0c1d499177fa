#include "runtime/quantization/weight_values.h"

#include "compiler/simplify/graph_sweep.h"
#include "sinter/error.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {

namespace {

[[noreturn]] void fail_unknown(const GraphData& graph, const std::string& weight,
                               std::string_view function) {
  std::vector<std::string_view> names;
  for (const InputInfo& input : graph.inputs) names.push_back(input.name);
  throw UserError(fmt::format("{}: graph {} has no input {}, which should be a weight; it has {}",
                              function, graph.name, weight,
                              names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

std::vector<bool> weight_values(const GraphData& graph, std::span<const std::string> weights,
                                std::string_view function) {
  std::vector<bool> is_weight(graph.nodes.size());
  std::vector<bool> is_other(graph.nodes.size());
  for (const InputInfo& input : graph.inputs) is_other[input.node->id] = true;
  for (const std::string& weight : weights) {
    const auto input = std::ranges::find(graph.inputs, weight, &InputInfo::name);
    if (input == graph.inputs.end()) fail_unknown(graph, weight, function);
    if (std::ranges::find(graph.updates, input->node, &UpdateInfo::parameter) !=
        graph.updates.end())
      throw UserError(
          fmt::format("{}: graph {} updates its input {}, which therefore cannot be a weight",
                      function, graph.name, weight));
    is_weight[input->node->id] = true;
    is_other[input->node->id] = false;
  }
  for (const Node* node : graph.nodes)
    for (const Node* operand : node->operands) {
      if (is_weight[operand->id]) is_weight[node->id] = true;
      if (is_other[operand->id]) is_other[node->id] = true;
    }
  for (std::size_t id = 0; id < is_weight.size(); ++id)
    if (is_other[id]) is_weight[id] = false;
  return is_weight;
}

bool is_floating_product(const Node& node) {
  return (node.op == Op::matmul || node.op == Op::conv) &&
         std::ranges::all_of(node.operands, [](const Node* operand) {
           return operand->dtype == f16 || operand->dtype == bf16 || operand->dtype == f32;
         });
}

std::vector<const Node*> activations_of_products(const GraphData& graph,
                                                 const std::vector<bool>& is_weight) {
  std::vector<const Node*> result;
  for (const Node* node : reachable(graph)) {
    if (!is_floating_product(*node) || is_weight[node->id]) continue;
    for (const Node* operand : node->operands)
      if (!is_weight[operand->id] && std::ranges::find(result, operand) == result.end())
        result.push_back(operand);
  }
  return result;
}

}  // namespace sinter
