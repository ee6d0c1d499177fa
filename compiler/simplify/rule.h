// Rewrite rules as data: pattern graphs, the matcher, and the rule table.
#pragma once

#include "ir/graph/node.h"
#include "ir/support/adt.h"

#include <optional>
#include <string_view>
#include <vector>

namespace sinter {

/// The dtypes that a rule holds for.
enum class When : std::uint8_t { always, floats, integers, has_sign };

/// `from` may be replaced by `to`, bit for bit, including NaN, infinities, zeros of both signs and
/// overflow. Inputs of the pattern are wildcards; a repeated wildcard must match the same node.
///
/// Requirements on rules: `to` has fewer ops and operands than `from` and at most one op, so every
/// use shrinks the graph. No op of a rule has an ulp error. A test samples each rule at values
/// where rules typically fail.
struct Rule {
  std::string_view name;
  Tensor from;
  Tensor to;
  When when = When::always;
};

/// The table, and the graph that owns its patterns.
struct RuleTable {
  Graph graph{"rules"};
  std::vector<Rule> rules;
};
const RuleTable& rule_table();

/// Maps wildcards to the nodes that they match. Patterns have few wildcards, so a list is faster
/// than a map.
class WildcardBindings {
 public:
  /// Binds `wildcard` to `node`; returns false if it is bound to another node.
  bool bind(const Node* wildcard, const Node* node) {
    if (const Node* known = lookup(wildcard)) return known == node;
    bound_.push_back({.wildcard = wildcard, .node = node});
    return true;
  }
  /// nullptr if `wildcard` is unbound.
  const Node* lookup(const Node* wildcard) const {
    for (const Binding& binding : bound_)
      if (binding.wildcard == wildcard) return binding.node;
    return nullptr;
  }

 private:
  struct Binding {
    const Node* wildcard;
    const Node* node;
  };
  llvm::SmallVector<Binding, 4> bound_;
};

/// The bindings under which `node` matches `rule.from`.
std::optional<WildcardBindings> match(const Rule& rule, const Node& node);

/// Builds `pattern` over the bound nodes, with the shape and dtype of `like`.
const Node* instantiate(GraphData& graph, const Node& pattern, const WildcardBindings& bindings,
                        const Node& like);

/// Applies the first rule that matches `node`; returns `node` itself if no rule matches.
const Node* apply_rules(GraphData& graph, const Node* node);

}  // namespace sinter
