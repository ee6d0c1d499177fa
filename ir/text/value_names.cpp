// Selects the values that a text shows, and names them.
#include "ir/support/name_characters.h"
#include "ir/text/lexer.h"
#include "ir/text/print.h"

#include <algorithm>
#include <unordered_map>

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

/// The numbers that need a statement, because they cannot always be written inline.
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

/// Fills a list with unique names.
class NamePool {
 public:
  explicit NamePool(std::vector<std::string>& names) : names_(names) {}
  /// Adds `name` to the list, with a number if the name is taken.
  void add_unique(const std::string& name) {
    if (add(name)) return;
    int& number = last_number_.try_emplace(name, 1).first->second;
    while (!add(fmt::format("{}_{}", name, ++number))) {
    }
  }

 private:
  /// Returns false if the list already has `name`.
  bool add(const std::string& name) {
    const std::uint64_t hash = std::hash<std::string>()(name);
    if (ids_.find(hash, [&](std::uint32_t id) { return names_[id] == name; })) return false;
    ids_.add(hash, static_cast<std::uint32_t>(names_.size()));
    names_.push_back(name);
    return true;
  }

  std::vector<std::string>& names_;
  IdTable ids_;  ///< indices of names, by hash
  std::unordered_map<std::string, int> last_number_;
};

/// True if `name` is an op and a number: such a name may collide with that of a value without
/// label.
bool is_numbered_op(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != name.npos && end + 1 < name.size() && name[end] == '_' &&
         find_op(name.substr(0, end));
}

/// `mul_7`
std::string numbered(std::string_view name, int number) {
  std::string result(name);
  result += '_';
  return result += std::to_string(number);
}

DType literal_dtype(const Node& constant) {
  if (is_floating(constant.dtype)) return f32;
  if (constant.dtype == boolean) return boolean;
  const bool is_large = attribute(constant, "value").literal.kind == Literal::Kind::large_integer;
  return is_large ? u64 : i64;
}

}  // namespace

std::string legal_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += is_name_character(c) ? c : '_';
  if (name.empty() || is_digit(name[0])) name.insert(name.begin(), '_');
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
  // All values are numbers. After a Tensor as the condition, their kind decides the dtype.
  if (has_condition && user.operand(0)->op != Op::constant)
    return number.dtype == literal_dtype(number) && user.dtype == number.dtype;
  // Otherwise, the first number is not inline, so that the others take their dtype from it.
  return operand != (has_condition ? 1U : 0U) && number.dtype == info(values[0]->dtype).compute;
}

ValueNames::ValueNames(const GraphData& graph)
    : live_(live_nodes(graph)), by_id_(graph.nodes.size()), names_(1) {
  const std::vector<bool> named = named_constants(graph, live_);
  NamePool pool(names_);
  bool are_numbers_taken = false;  // by names from users
  const auto assign_name = [&](const Node* node, const std::string& name) {
    by_id_[node->id] = static_cast<std::int32_t>(names_.size());
    pool.add_unique(name);
    are_numbers_taken |= is_numbered_op(names_.back());
  };
  for (const InputInfo& input : graph.inputs) assign_name(input.node, legal_name(input.name));
  const auto has_statement = [&](const Node* node) {
    return live_[node->id] && by_id_[node->id] == 0 &&
           (node->op != Op::constant || named[node->id]);
  };
  for (const Node* node : graph.nodes)
    if (has_statement(node))
      if (const std::string_view label = graph.label(node); !label.empty())
        assign_name(node, legal_name(label));
  std::int32_t number = 0;
  for (const Node* node : graph.nodes) {
    if (!live_[node->id] || is_source(node->op)) continue;
    ++number;
    if (!has_statement(node)) continue;
    if (are_numbers_taken)
      assign_name(node, numbered(info(node->op).name, number));
    else
      by_id_[node->id] = -number;
  }
  for (const Node* node : graph.nodes)
    if (has_statement(node)) assign_name(node, std::string(info(node->op).name));
}

std::string ValueNames::of(const Node* node) const {
  const std::int32_t entry = by_id_[node->id];
  if (entry < 0) return numbered(info(node->op).name, -entry);
  return names_[static_cast<std::size_t>(entry)];
}

}  // namespace sinter
