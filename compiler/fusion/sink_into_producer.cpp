#include "compiler/fusion/sink_into_producer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

/// What `reader` makes of `value`, which it alone loads, step by step and of nothing else, up to
/// what is smaller in memory; with the results that are views of these steps. Empty if there is no
/// such thing, or `reader` does nothing else.
std::vector<const Node*> made_smaller(const Groups& groups, int reader, const Node* value,
                                      NodeSizes& sizes) {
  std::vector<const Node*> made;
  if (groups.is_wanted_outside(value, groups.home(value), reader)) return {};
  for (const Node* at = value;;) {
    const bool is_smaller = sizes.bytes(*at) < sizes.bytes(*value);
    const Node* next = nullptr;
    for (const Node* user : groups.readers_within(reader, at)) {
      const bool is_copy = is_view(*user);
      if (!is_copy && is_smaller) continue;
      if (groups.is_recomputed(user) || groups.reads(user).size() != 1) return {};
      if (!is_copy && (next || is_reduction(user->op) || is_scan(user->op))) return {};
      made.push_back(user);
      if (!is_copy) next = user;
    }
    if (is_smaller) break;
    if (!next || next->op == Op::scatter) return {};
    at = next;
  }
  return made.size() < groups[reader].nodes.size() ? made : std::vector<const Node*>();
}

/// Hands `nodes` of `from` over to `to` if the two take less time then.
bool pays_to_hand_over(Groups& groups, std::span<const Node* const> nodes, int from, int to,
                       const std::function<double(int)>& seconds) {
  const double before = seconds(to) + seconds(from);
  Groups::Snapshot saved = groups.snapshot(std::array{to, from});
  groups.sink(nodes, from, to);
  if (seconds(to) + seconds(from) < before) return true;
  groups.restore(std::move(saved));
  return false;
}

/// The one group that stores all that `node` reads; -1 if there is none.
int only_maker(const Groups& groups, const Node* node) {
  const std::span<const Node* const> reads = groups.reads(node);
  const int maker = reads.empty() ? -1 : groups.home(reads[0]);
  const auto is_of_maker = [&](const Node* read) { return groups.home(read) == maker; };
  return std::ranges::all_of(reads, is_of_maker) ? maker : -1;
}

}  // namespace

void sink_concats(Groups& groups, const std::function<double(int)>& seconds) {
  for (int group = 0; group < groups.size(); ++group) {
    const Nodes stores = groups[group].stores;
    for (const Node* node : stores) {
      if (node->op != Op::concat || !groups.is_result(node) || groups[group].nodes.size() < 2)
        continue;
      const int maker = only_maker(groups, node);
      if (maker >= 0 && maker != group && !groups.has_own_kernel(maker))
        pays_to_hand_over(groups, {&node, 1}, group, maker, seconds);
    }
  }
}

bool sink_shrinking_consumers(Groups& groups, NodeSizes& sizes,
                              const std::function<double(int)>& seconds) {
  bool result = false;
  for (int reader = 0; reader < groups.size(); ++reader) {
    if (!groups[reader].alive || groups.has_own_kernel(reader)) continue;
    const Nodes loads = groups[reader].loads;
    for (const Node* load : loads) {
      const int maker = groups.home(load);
      if (maker < 0 || groups.has_own_kernel(maker) || !groups[reader].alive) continue;
      const std::vector<const Node*> made = made_smaller(groups, reader, load, sizes);
      if (!made.empty()) result |= pays_to_hand_over(groups, made, reader, maker, seconds);
    }
  }
  return result;
}

}  // namespace sinter
