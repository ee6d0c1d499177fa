// Which values a text shows and what it calls them.
#include "ir/lexer.h"
#include "ir/print.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace sinter {

namespace {

std::vector<bool> live_nodes(const GraphData& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (const OutputInfo& output : graph.outputs) live[output.node->id] = true;
  for (const UpdateInfo& update : graph.updates) live[update.value->id] = true;
  // Operands have smaller ids than their users.
  for (std::size_t id = graph.nodes.size(); id-- > 0;)
    if (live[id])
      for (const Node* operand : graph.nodes[id]->operands) live[operand->id] = true;
  for (const InputInfo& input : graph.inputs) live[input.node->id] = true;
  return live;
}

/// The numbers that need a statement of their own.
std::vector<bool> named_constants(const GraphData& graph, const std::vector<bool>& live) {
  std::vector<bool> named(graph.nodes.size());
  for (const Node* node : graph.nodes)
    if (live[node->id])
      for (std::size_t i = 0; i < node->operands.size(); ++i)
        if (node->operand(i)->op == Op::constant && !is_inline_literal(*node, i))
          named[node->operand(i)->id] = true;
  for (const OutputInfo& output : graph.outputs) named[output.node->id] = true;
  for (const UpdateInfo& update : graph.updates) named[update.value->id] = true;
  return named;
}

/// Hands out names, each once.
class NamePool {
 public:
  explicit NamePool(std::size_t names) { taken_.reserve(names); }

  /// Puts `name`, or one like it, in `place`, which stays where it is.
  void give(std::string& place, std::string name) {
    place = std::move(name);
    if (taken_.insert(place).second) return;
    name = place;
    int& number = last_number_.try_emplace(name, 1).first->second;
    do place = fmt::format("{}_{}", name, ++number);
    while (!taken_.insert(place).second);
  }

 private:
  std::unordered_set<std::string_view> taken_;
  std::unordered_map<std::string, int> last_number_;
};

/// `mul_7`
std::string numbered(std::string_view name, int number) {
  std::string result(name);
  result += '_';
  return result += std::to_string(number);
}

DType literal_dtype(const Node& constant) {
  if (is_floating(constant.dtype)) return f32;
  if (constant.dtype == boolean) return boolean;
  const bool is_natural = attribute(constant, "value").literal.kind == Literal::Kind::natural;
  return is_natural ? u64 : i64;
}

}  // namespace

std::string legal_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_legal =
        c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += is_legal ? c : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(name.begin(), '_');
  return is_reserved(name) ? name + "_" : name;
}

bool is_inline_literal(const Node& user, std::size_t operand) {
  const Node& number = *user.operand(operand);
  if (number.op != Op::constant || !is_elementwise(user.op)) return false;
  std::span<const Node* const> values = user.operands;
  const bool has_condition = info(user.op).types == TypeRule::Where;
  if (has_condition) values = values.subspan(1);
  const auto tensor =
      std::ranges::find_if(values, [](const Node* n) { return n->op != Op::constant; });
  if (has_condition && operand == 0) return number.dtype == boolean;
  if (tensor != values.end()) return number.dtype == info((*tensor)->dtype).compute;
  // Nothing but numbers: between a condition and them, their kind decides the dtype …
  if (has_condition && user.operand(0)->op != Op::constant)
    return number.dtype == literal_dtype(number) && user.dtype == number.dtype;
  // … else the first must be a value for the others to follow.
  return operand != (has_condition ? 1U : 0U) && number.dtype == info(values[0]->dtype).compute;
}

ValueNames::ValueNames(const GraphData& graph)
    : live_(live_nodes(graph)), by_id_(graph.nodes.size()) {
  const std::vector<bool> named = named_constants(graph, live_);
  NamePool pool(graph.nodes.size());
  for (const InputInfo& input : graph.inputs)
    pool.give(by_id_[input.node->id], legal_name(input.name));
  const auto has_statement = [&](const Node* node) {
    return live_[node->id] && by_id_[node->id].empty() &&
           (node->op != Op::constant || named[node->id]);
  };
  for (const Node* node : graph.nodes)
    if (has_statement(node) && !graph.label(node).empty())
      pool.give(by_id_[node->id], legal_name(graph.label(node)));
  int number = 0;
  for (const Node* node : graph.nodes) {
    if (!live_[node->id] || is_source(node->op)) continue;
    ++number;
    if (has_statement(node)) pool.give(by_id_[node->id], numbered(info(node->op).name, number));
  }
  for (const Node* node : graph.nodes)
    if (has_statement(node)) pool.give(by_id_[node->id], std::string(info(node->op).name));
}

}  // namespace sinter
