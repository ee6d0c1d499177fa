// Which values a text shows and what it calls them.
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

/// Fills a list with names, each once.
class NamePool {
 public:
  explicit NamePool(std::vector<std::string>& names) : names_(names) {}
  /// Adds `name`, or one like it, to the list.
  void give(const std::string& name) {
    if (add(name)) return;
    int& number = last_number_.try_emplace(name, 1).first->second;
    while (!add(fmt::format("{}_{}", name, ++number))) {
    }
  }

 private:
  /// False if it is there already.
  bool add(const std::string& name) {
    const std::uint64_t hash = std::hash<std::string>()(name);
    if (ids_.find(hash, [&](std::uint32_t id) { return names_[id] == name; })) return false;
    ids_.add(hash, static_cast<std::uint32_t>(names_.size()));
    names_.push_back(name);
    return true;
  }

  std::vector<std::string>& names_;
  IdTable ids_;  ///< of the names
  std::unordered_map<std::string, int> last_number_;
};

/// True if `name` is that of an op and a number: then a value that has no name of its own may be
/// called so too.
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
    : live_(live_nodes(graph)), by_id_(graph.nodes.size()), names_(1) {
  const std::vector<bool> named = named_constants(graph, live_);
  NamePool pool(names_);
  bool are_numbers_taken = false;  // by names that users gave
  const auto give = [&](const Node* node, const std::string& name) {
    by_id_[node->id] = static_cast<std::int32_t>(names_.size());
    pool.give(name);
    are_numbers_taken |= is_numbered_op(names_.back());
  };
  for (const InputInfo& input : graph.inputs) give(input.node, legal_name(input.name));
  const auto has_statement = [&](const Node* node) {
    return live_[node->id] && by_id_[node->id] == 0 &&
           (node->op != Op::constant || named[node->id]);
  };
  for (const Node* node : graph.nodes)
    if (has_statement(node))
      if (const std::string_view label = graph.label(node); !label.empty())
        give(node, legal_name(label));
  std::int32_t number = 0;
  for (const Node* node : graph.nodes) {
    if (!live_[node->id] || is_source(node->op)) continue;
    ++number;
    if (!has_statement(node)) continue;
    if (are_numbers_taken)
      give(node, numbered(info(node->op).name, number));
    else
      by_id_[node->id] = -number;
  }
  for (const Node* node : graph.nodes)
    if (has_statement(node)) give(node, std::string(info(node->op).name));
}

std::string ValueNames::of(const Node* node) const {
  const std::int32_t place = by_id_[node->id];
  if (place < 0) return numbered(info(node->op).name, -place);
  return names_[static_cast<std::size_t>(place)];
}

}  // namespace sinter
