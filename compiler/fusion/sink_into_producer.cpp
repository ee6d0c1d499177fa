#include "compiler/fusion/sink_into_producer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

/// The chain of ops in `reader` from `value`, which only `reader` loads, to the first value that is
/// smaller in memory. Each op reads only the previous one. Includes results that are views of these
/// ops. Empty if there is no such chain, or if `reader` has no other nodes.
std::vector<const Node*> shrinking_chain(const Groups& groups, int reader, const Node* value,
                                         NodeSizes& sizes) {
  std::vector<const Node*> chain;
  if (groups.is_needed_outside(value, groups.home(value), reader)) return {};
  for (const Node* at = value;;) {
    const bool is_smaller = sizes.bytes(*at) < sizes.bytes(*value);
    const Node* next = nullptr;
    for (const Node* user : groups.readers_within(reader, at)) {
      const bool is_copy = is_view(*user);
      if (!is_copy && is_smaller) continue;
      if (groups.is_recomputed(user) || groups.reads(user).size() != 1) return {};
      if (!is_copy && (next || is_reduction(user->op) || is_scan(user->op))) return {};
      chain.push_back(user);
      if (!is_copy) next = user;
    }
    if (is_smaller) break;
    if (!next || next->op == Op::scatter) return {};
    at = next;
  }
  return chain.size() < groups[reader].nodes.size() ? chain : std::vector<const Node*>();
}

/// Moves `nodes` from `from` to `to` if the two then take less time; else returns false.
bool sink_if_faster(Groups& groups, std::span<const Node* const> nodes, int from, int to,
                    const std::function<double(int)>& seconds) {
  const double before = seconds(to) + seconds(from);
  Groups::Snapshot saved = groups.snapshot(std::array{to, from});
  groups.sink(nodes, from, to);
  if (seconds(to) + seconds(from) < before) return true;
  groups.restore(std::move(saved));
  return false;
}

/// The group from which `group` loads all values that `node` reads; -1 if there is no single one. A
/// value that `group` computes itself may be stored by a group that depends on `group`.
int only_producer(const Groups& groups, int group, const Node* node) {
  const std::span<const Node* const> reads = groups.reads(node);
  const int producer = reads.empty() ? -1 : groups.home(reads[0]);
  const auto is_of_producer = [&](const Node* read) {
    return groups.home(read) == producer && !groups.contains(group, read);
  };
  return std::ranges::all_of(reads, is_of_producer) ? producer : -1;
}

}  // namespace

void sink_concats(Groups& groups, const std::function<double(int)>& seconds) {
  for (int group = 0; group < groups.size(); ++group) {
    const Nodes stores = groups[group].stores;
    for (const Node* node : stores) {
      if (node->op != Op::concat || !groups.is_result(node) || groups[group].nodes.size() < 2)
        continue;
      const int producer = only_producer(groups, group, node);
      if (producer >= 0 && producer != group && !groups.has_own_kernel(producer))
        sink_if_faster(groups, {&node, 1}, group, producer, seconds);
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
      const int producer = groups.home(load);
      if (producer < 0 || groups.has_own_kernel(producer) || !groups[reader].alive) continue;
      const std::vector<const Node*> chain = shrinking_chain(groups, reader, load, sizes);
      if (!chain.empty()) result |= sink_if_faster(groups, chain, reader, producer, seconds);
    }
  }
  return result;
}

}  // namespace sinter
