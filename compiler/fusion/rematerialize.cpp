// Rematerialization in GreedyFuser: readers compute cheap values instead of loading them.
#include <algorithm>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/fusion/greedy_fuser.h"
#include "compiler/program/op_cost.h"
#include "ir/graph/opaque_node.h"

namespace sinter {

void GreedyFuser::rematerialize_cheap_values() {
  for (int group = 0; group < groups.size(); ++group) {
    if (!groups[group].alive) continue;
    const Nodes stores = groups[group].stores;
    for (const Node* node : stores) {
      if (groups.is_result(node)) continue;
      // The narrower value first: whether its operands are loaded again depends on its size.
      const Cone widening = cone_of_widening(group, node);
      const bool is_narrowed = try_recompute(group, node, widening);
      const Node* const stored = is_narrowed ? widening.loads[0] : node;
      if (!groups.is_result(stored)) try_recompute(group, stored, cone_of(group, stored));
    }
  }
  lower_bounds_ = DenseMap<int, LowerBounds>();
  visited_ = {};
}

GreedyFuser::Cone GreedyFuser::cone_of(int group, const Node* node) {
  const auto is_outside = [&](const Node* at) {
    return at->op == Op::input || is_reduction(at->op) || is_scan(at->op) ||
           at->op == Op::scatter || is_opaque(*at) || !groups.contains(group, at);
  };
  Cone result;
  if (is_outside(node)) return result;
  llvm::SmallVector<const Node*, 16> pending = {node};
  visited_.resize(graph_.nodes.size());
  ++cones_;
  while (!pending.empty()) {
    const Node* at = pending.pop_back_val();
    if (std::exchange(visited_[at->id], cones_) == cones_) continue;
    // Results are stored anyway, so the cone can load them.
    if (is_outside(at) || (at != node && groups.is_result(at))) {
      result.loads.push_back(at);
      continue;
    }
    result.nodes.push_back(at);
    const std::span<const Node* const> reads = groups.reads(at);
    pending.append(reads.begin(), reads.end());
  }
  std::ranges::sort(result.loads, {}, &Node::id);
  return result;
}

GreedyFuser::Cone GreedyFuser::cone_of_widening(int group, const Node* node) const {
  if (node->op != Op::cast) return {};
  const std::span<const Node* const> reads = groups.reads(node);
  // Another group that computes the operand, too, need not store it.
  const bool is_narrower = reads.size() == 1 && groups.home(reads[0]) == group &&
                           size_of(reads[0]->dtype) < size_of(node->dtype);
  return is_narrower ? Cone{.nodes = {node}, .loads = {reads[0]}} : Cone{};
}

bool GreedyFuser::try_recompute(int group, const Node* node, const Cone& cone) {
  const std::vector<const Node*>& nodes = cone.nodes;
  if (nodes.empty() || !groups[group].alive || groups.has_own_kernel(group)) return false;
  GroupNumbers touched = {group};
  for (const int consumer : groups.readers(group, {&node, 1})) {
    if (groups.has_own_kernel(consumer)) return false;
    const auto added = std::ranges::count_if(
        nodes, [&](const Node* inner) { return !groups.contains(consumer, inner); });
    if (groups[consumer].nodes.size() + static_cast<std::size_t>(added) > kMaxNodes) return false;
    touched.push_back(consumer);
  }
  double before = 0;
  for (const int at : touched) before += seconds(at, lower_bounds(at));
  const std::span<const int> readers = std::span(touched).subspan(1);
  if (min_seconds(group, node, cone, readers) > before * (1 + kRounding)) return false;
  // The exact cost is known only after the change.
  Groups::Snapshot saved = groups.snapshot(touched);
  for (const int reader : readers) groups.recompute(reader, nodes);
  groups.drop_unused(group);
  double after = 0;
  for (const int at : touched)
    if (groups[at].alive && after <= before) after += cost_or_infinite(at);
  if (after > before * max_time_ratio_) {
    groups.restore(std::move(saved));
    return false;
  }
  // A reader no longer loads what it computes, which may have been a value of a third group.
  for (const Group& changed : saved.groups) groups.remove_reader(changed.loads);
  return true;
}

double GreedyFuser::min_seconds(int group, const Node* node, const Cone& cone,
                                std::span<const int> readers) {
  const std::vector<const Node*>& nodes = cone.nodes;
  Cost all;
  int launches = 0;
  const auto add = [&](int at, double more_bytes, double more_instructions) {
    const LowerBounds& known = lower_bounds(at);
    all.bytes_read += known.bytes + more_bytes;
    all.instructions += std::max(known.instructions + more_instructions, 0.0);
    ++launches;
    return known.bytes >= 0;
  };
  Nodes stored;  // values of `group` that it must store, because readers load them from now on
  for (const int reader : readers) {
    double more = -bytes(node);
    const Nodes& known = groups[reader].loads;
    const auto is_known = [&](const Node* load) {
      return std::ranges::binary_search(known, load->id, {}, &Node::id);
    };
    std::size_t arguments = groups.arguments(reader);
    for (const Node* load : cone.loads) {
      if (groups.contains(reader, load)) continue;
      if (groups.home(load) == group) stored.push_back(load);
      if (is_known(load)) continue;
      more += bytes(load);
      ++arguments;
    }
    if (arguments - static_cast<std::size_t>(std::ranges::count_if(nodes, is_known)) >
        kMaxArguments)
      return kImpossibleSeconds;
    if (!add(reader, more, more_instructions(reader, nodes))) return 0;
  }
  // Without other stores the group disappears. Otherwise it drops loads that only `nodes` read, and
  // stores its own values that they read.
  if (groups[group].stores.size() > 1) {
    double more = -bytes(node);
    for (const Node* load : cone.loads) {
      if (!groups.contains(group, load))
        more -= groups.has_other_reader(group, load, nodes) ? 0 : bytes(load);
      else if (std::ranges::find(stored, load) != stored.end() &&
               !groups.is_needed_outside(load, group))
        more += bytes(load);
    }
    double dropped = 0;
    for (const Node* inner : nodes) dropped += instructions(inner);
    if (!add(group, more, -dropped)) return 0;
  }
  return (launches - 1) * target_.launch_seconds + seconds_of(all, target_);
}

double GreedyFuser::instructions(const Node* node) {
  return instructions_of(node->op) * sizes_.elements(*node);
}

double GreedyFuser::more_instructions(int reader, std::span<const Node* const> nodes) {
  GroupPattern pattern = groups[reader].pattern;
  double result = 0;
  for (const Node* node : nodes) {
    if (groups.contains(reader, node)) continue;
    pattern = merged_pattern(pattern, pattern_of(*node));
    result += instructions(node);
  }
  return pattern.kind == GroupPattern::Kind::none ? 0 : result;
}

}  // namespace sinter
