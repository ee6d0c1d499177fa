// Rewrite rules as data: pattern graphs, how they match, and the table of them.
#pragma once

#include "ir/graph/node.h"
#include "ir/support/adt.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// Which numbers a rule holds for.
enum class When : std::uint8_t { always, floats, integers, has_sign };

/// `from` may be replaced by `to`, bit for bit: NaN, infinities, zeros of both signs and overflow
/// included. Inputs of the pattern are wildcards; one that occurs again must be the same node.
///
/// Rules for rules: `to` has fewer ops and operands than `from` and at most one op, so that every
/// use makes the graph smaller; no op in them is off by an ulp; a test samples each at the values
/// where rules go wrong.
struct Rule {
  std::string_view name;
  Tensor from;
  Tensor to;
  When when = When::always;
};

/// The table, and where its patterns live.
struct RuleTable {
  Graph graph{"rules"};
  std::vector<Rule> rules;
};
const RuleTable& rule_table();

/// What the wildcards stand for. A pattern has few, so a list is faster than a map.
class WildcardBindings {
 public:
  /// Lets `wildcard` stand for `node`; false if it stands for another one already.
  bool bind(const Node* wildcard, const Node* node) {
    if (const Node* known = lookup(wildcard)) return known == node;
    bound_.push_back({.wildcard = wildcard, .node = node});
    return true;
  }
  /// nullptr if it stands for nothing.
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

/// The bindings under which `node` looks like `rule.from`.
std::optional<WildcardBindings> match(const Rule& rule, const Node& node);

/// `pattern` over the bound values, in a shape and dtype that `like` has.
const Node* instantiate(GraphData& graph, const Node& pattern, const WildcardBindings& bindings,
                        const Node& like);

/// The first rule that fits `node`, applied; `node` itself if there is none.
const Node* apply_rules(GraphData& graph, const Node* node);

}  // namespace sinter
