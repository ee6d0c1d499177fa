#include "compiler/simplify/rule.h"

#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/record/record.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

bool is_wildcard(const Node& pattern) { return pattern.op == Op::input; }

bool fits(When when, const Node& pattern, const Node& node) {
  if (pattern.dtype == boolean) return node.dtype == boolean;
  switch (when) {
    case When::always: return true;
    case When::floats: return is_floating(node.dtype);
    case When::integers: return is_integer(node.dtype);
    case When::has_sign: return !is_unsigned(node.dtype);
  }
  throw InternalError("rule: unknown condition");
}

/// A pattern's number in `dtype`; nullopt if it has no exact form. -0 differs from +0 and has no
/// integer form.
std::optional<Literal> literal_in(const Literal& literal, DType dtype) {
  if (is_floating(dtype) || literal.kind != Literal::Kind::real) return literal;
  const bool whole = std::trunc(literal.real) == literal.real && std::fabs(literal.real) < 0x1p31;
  if (!whole || std::signbit(literal.real) != (literal.real < 0)) return std::nullopt;
  return Literal{.kind = Literal::Kind::integer,
                 .integer = static_cast<std::int64_t>(literal.real)};
}

/// True if `node` matches `pattern`; adds the matched wildcards to `bound`.
bool match(When when, const Node& pattern, const Node& node, WildcardBindings& bound) {
  if (is_wildcard(pattern)) return fits(when, pattern, node) && bound.bind(&pattern, &node);
  if (const std::optional<Literal> number = uniform_value(pattern)) {
    const std::optional<Literal> expected = literal_in(*number, node.dtype);
    const std::optional<Literal> value = uniform_value(node);
    return expected && value && same_bits(*expected, *value);
  }
  if (pattern.op != node.op) return false;
  const auto in_order = [&](std::span<const Node* const> operands) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!match(when, *pattern.operand(i), *operands[i], bound)) return false;
    return true;
  };
  const WildcardBindings before = bound;
  if (in_order(node.operands)) return true;
  bound = before;
  if (!(info(node.op).traits & Commutative)) return false;
  const Node* const swapped[] = {node.operand(1), node.operand(0)};
  return in_order(swapped);
}

/// Converts `result` so that it can replace `like`. Rounds a number of the compute type as the
/// replaced op would have. Broadcasts to the shape of `like`.
const Node* conform(GraphData& graph, const Node* result, const Node& like) {
  if (result->dtype != like.dtype)
    result = fold_node(graph, cast(operand_at(graph, result, &like), like.dtype).node());
  if (!std::ranges::equal(result->shape, like.shape))
    result = fold_node(graph, broadcast_to(operand_at(graph, result, &like), like.shape).node());
  return result;
}

/// The dtype of a `where` is that of its values, so at least one value must have it. If none has,
/// rounds the values, which are numbers of the compute type, as the `where` would.
void give_dtype(GraphData& graph, std::span<const Node*> operands, const Node& like) {
  const auto has_dtype = [&](const Node* node) { return node->dtype == like.dtype; };
  if (std::ranges::any_of(operands.subspan(1), has_dtype)) return;
  for (const Node*& value : operands.subspan(1)) value = conform(graph, value, like);
}

/// A rule with a cheap test that rejects most nodes: an operand of its pattern that is no wildcard,
/// if it has one.
struct ListedRule {
  const Rule* rule = nullptr;
  const Node* filter = nullptr;
};

ListedRule listed(const Rule& rule) {
  for (const Node* operand : rule.from.node()->operands)
    if (!is_wildcard(*operand)) return {.rule = &rule, .filter = operand};
  return {.rule = &rule};
}

bool may_fit(const ListedRule& listed, const Node& node) {
  return !listed.filter || std::ranges::any_of(node.operands, [&](const Node* operand) {
    return is_uniform(*listed.filter) ? is_uniform(*operand) : operand->op == listed.filter->op;
  });
}

/// The rules whose pattern has `op` as its outermost op.
std::span<const ListedRule> rules_for(Op op) {
  // Never destroyed: a thread may still plan while the process exits.
  static const auto& by_op = *[] {
    auto* const result = new std::vector<std::vector<ListedRule>>(op_table().size());
    for (const Rule& rule : rule_table().rules)
      (*result)[static_cast<std::size_t>(rule.from.node()->op)].push_back(listed(rule));
    return result;
  }();
  return by_op[static_cast<std::size_t>(op)];
}

}  // namespace

std::optional<WildcardBindings> match(const Rule& rule, const Node& node) {
  WildcardBindings bound;
  if (!match(rule.when, *rule.from.node(), node, bound)) return std::nullopt;
  return bound;
}

const Node* instantiate(GraphData& graph, const Node& pattern, const WildcardBindings& bindings,
                        const Node& like) {
  const Location location = graph.location(&like);
  if (is_wildcard(pattern)) return conform(graph, bindings.lookup(&pattern), like);
  if (const std::optional<Literal> number = uniform_value(pattern)) {
    const std::optional<Literal> literal = literal_in(*number, like.dtype);
    ensure(literal.has_value(), "a rule produces a number that the dtype cannot represent");
    return make_uniform(graph, like.shape, *literal, like.dtype, location);
  }
  llvm::SmallVector<const Node*, 3> operands;
  for (const Node* operand : pattern.operands) {
    ensure(is_wildcard(*operand), "a rule produces more than one op");
    operands.push_back(bindings.lookup(operand));
  }
  if (pattern.op == Op::where) give_dtype(graph, operands, like);
  const ShapeVector shape = broadcast_shapes(info(pattern.op).name, operands, location);
  const Node* result = graph.make(
      {.op = pattern.op, .dtype = like.dtype, .operands = operands, .shape = shape}, location);
  return conform(graph, result, like);
}

const Node* apply_rules(GraphData& graph, const Node* node) {
  for (const ListedRule& listed : rules_for(node->op)) {
    if (!may_fit(listed, *node)) continue;
    if (const std::optional<WildcardBindings> bindings = match(*listed.rule, *node))
      return instantiate(graph, *listed.rule->to.node(), *bindings, *node);
  }
  return node;
}

}  // namespace sinter
