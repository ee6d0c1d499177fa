// The initial groups of fusion: one node each, or elementwise ops together with their only reader.
#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/fusion/fusion_evaluator.h"
#include "compiler/fusion/group.h"
#include "compiler/schedule/opaque_calls.h"
#include "ir/collectives/collective_node.h"
#include "ir/graph/operand_index.h"
#include "ir/record/opaque.h"

namespace sinter {

namespace {

/// Maximum nodes of an initial group: small groups can still fill up larger ones.
constexpr int kMaxInitialNodes = kMaxNodes / 8;

/// True if `node` is larger in memory than its operand. Its readers could read the operand instead.
bool widens(const Node& node) {
  return node.op == Op::cast && size_of(node.dtype) > size_of(node.operand(0)->dtype);
}

bool computes(const Node& node) { return !is_view(node) && !is_source(node.op); }

/// The nodes that updates and written outputs need, operands first.
std::vector<const Node*> needed_nodes(const GraphData& graph) {
  if (graph.are_all_live() && std::ranges::none_of(graph.outputs, &OutputInfo::is_unwritten))
    return graph.nodes;
  std::vector<std::uint8_t> needed(graph.nodes.size());
  for (const OutputInfo& output : graph.outputs)
    if (!output.is_unwritten) needed[output.node->id] = true;
  for (const UpdateInfo& update : graph.updates) needed[update.value->id] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;)
    if (needed[id])
      for (const Node* operand : graph.nodes[id]->operands) needed[operand->id] = true;
  std::vector<const Node*> result;
  for (const Node* node : graph.nodes)
    if (needed[node->id]) result.push_back(node);
  return result;
}

}  // namespace

Groups::Groups(const GraphData& graph, LazyValueNames& names, PlanWork& work, InitialGroups initial)
    : graph_(graph),
      names_(names),
      work_(work),
      values_(graph.nodes.size()),
      first_read_(graph.nodes.size() + 1) {
  const std::vector<const Node*> nodes = needed_nodes(graph);
  find_results(nodes);
  const std::vector<const Node*> firsts = find_reads(nodes);
  find_users(firsts);
  add_groups(firsts, initial);
  for (const Node* node : nodes)
    if (is_opaque(*node) && home(node) < 0) add_to_call_group(node);
  for (Group& group : groups_)
    for (const Node* node : group.nodes)
      if (value(node).is_result || value(node).loaders > 0) group.stores.push_back(node);
  seen_.resize(groups_.size());
  find_chain();
}

void Groups::find_results(std::span<const Node* const> nodes) {
  // If a value is several outputs, readers use the first one.
  for (const OutputInfo& output : graph_.outputs) {
    if (output.is_unwritten) continue;
    if (value(output.node).is_result)
      other_strides_[output.node].push_back(output.strides);
    else if (!output.strides.empty())
      strides_[output.node] = output.strides;
    value(output.node).is_result = true;
  }
  for (const UpdateInfo& update : graph_.updates) {
    if (value(update.value).is_result)
      other_strides_[update.value].push_back(attribute(*update.parameter, "strides").extents);
    value(update.value).is_result = true;
  }
  for (const Node* node : nodes) {
    if (!is_opaque(*node)) continue;
    for (const Node* operand : node->operands)
      if (must_be_stored_for_call(*operand))
        value(operand).is_result = value(operand).is_call_operand = true;
  }
}

std::vector<const Node*> Groups::find_reads(std::span<const Node* const> nodes) {
  std::vector<const Node*> firsts;
  firsts.reserve(static_cast<std::size_t>(std::ranges::count_if(
      nodes, [&](const Node* node) { return computes(*node) || is_result(node); })));
  // through[v]: the nodes that a reader of the view v reads.
  DenseMap<const Node*, llvm::SmallVector<const Node*, 4>> through;
  std::size_t next = 0;
  const Node* last_collective = nullptr;
  for (const Node* node : nodes) {
    Nodes reads;
    for (const Node* operand : node->operands) {
      if (is_opaque(*node)) {
        if (operand->op != Op::scalar) reads.push_back(operand);
      } else if (operand->op == Op::input || computes(*operand)) {
        reads.push_back(operand);
      } else {
        const llvm::SmallVector<const Node*, 4>& from = through[operand];
        reads.append(from.begin(), from.end());
      }
    }
    // All ranks must execute their collectives in one order, which the order of the nodes is.
    if (is_collective(node->op))
      if (const Node* const before = std::exchange(last_collective, node)) reads.push_back(before);
    sort_unique_by_id(reads);
    if (!computes(*node) && node->op != Op::input) through[node].assign(reads.begin(), reads.end());
    if (!computes(*node) && !is_result(node)) continue;
    if (is_opaque(*node) && !is_first_of_call(node, nodes)) continue;
    for (; next <= node->id; ++next) first_read_[next] = static_cast<std::uint32_t>(reads_.size());
    reads_.insert(reads_.end(), reads.begin(), reads.end());
    firsts.push_back(node);
  }
  for (; next < first_read_.size(); ++next)
    first_read_[next] = static_cast<std::uint32_t>(reads_.size());
  return firsts;
}

bool Groups::is_first_of_call(const Node* node, std::span<const Node* const> nodes) const {
  return std::ranges::none_of(results_of_call(graph_, *node), [&](const Node* other) {
    return other && other->id < node->id &&
           std::ranges::binary_search(nodes, other->id, {}, &Node::id);
  });
}

/// Inverts `reads_`.
void Groups::find_users(std::span<const Node* const> firsts) {
  first_user_.assign(first_read_.size(), 0);
  for (const Node* read : reads_) ++first_user_[read->id + 1];
  for (std::size_t id = 1; id < first_user_.size(); ++id) first_user_[id] += first_user_[id - 1];
  users_.resize(reads_.size());
  std::vector<std::uint32_t> next = first_user_;
  for (const Node* node : firsts)
    for (const Node* read : reads(node)) users_[next[read->id]++] = node;
}

void Groups::add_groups(std::span<const Node* const> firsts, InitialGroups initial) {
  std::vector<GroupPattern> patterns;
  patterns.reserve(firsts.size());
  for (const Node* node : firsts) patterns.push_back(pattern_of(*node));
  const std::vector<std::uint32_t> last = find_last_nodes(firsts, patterns, initial);
  // Producers have earlier last nodes than their consumers, so this order is topological.
  std::vector<int> number(firsts.size());
  int count = 0;
  for (std::size_t i = 0; i < firsts.size(); ++i)
    if (last[i] == i) number[i] = count++;
  groups_.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const Node* const node = firsts[i];
    const int home = number[last[i]];
    Group& group = at(home);
    group.pattern = group.nodes.empty() ? patterns[i] : merged_pattern(group.pattern, patterns[i]);
    group.is_call = is_opaque(*node);
    group.position = home;
    group.nodes.push_back(node);
    for (const Node* read : reads(node))
      if (value(read).home != home) group.loads.push_back(read);
    value(node).home = home;
    value(node).groups.push_back(home);
  }
  for (Group& group : groups_) {
    if (group.nodes.size() > 1) sort_unique_by_id(group.loads);
    for (const Node* load : group.loads) ++value(load).loaders;
  }
}

/// An elementwise op starts in the only group that reads it, if that group has the same shape. One
/// kernel then does no more work than two, and no group can come between them. Such a group is a
/// fanout-free cone (Cong and Ding, "FlowMap", 1994).
std::vector<std::uint32_t> Groups::find_last_nodes(std::span<const Node* const> firsts,
                                                   std::span<const GroupPattern> patterns,
                                                   InitialGroups initial) {
  std::vector<std::uint32_t> last(firsts.size());
  std::iota(last.begin(), last.end(), 0U);
  if (initial == InitialGroups::single_nodes) return last;
  for (std::size_t i = 0; i < firsts.size(); ++i) value(firsts[i]).home = static_cast<int>(i);
  struct Size {
    std::uint32_t nodes = 1;
    std::uint32_t arguments = 0;  ///< upper bound: counts shared values repeatedly
  };
  std::vector<Size> sizes(firsts.size());
  for (std::size_t i = firsts.size(); i-- > 0;) {
    const Node* const node = firsts[i];
    const auto count = static_cast<std::uint32_t>(reads(node).size());
    sizes[i].arguments = count + 1;
    const std::span<const Node* const> readers = users(node);
    if (readers.empty() || is_result(node) || patterns[i].kind != GroupPattern::Kind::plain)
      continue;
    const auto last_of = [&](const Node* reader) {
      return last[static_cast<std::size_t>(value(reader).home)];
    };
    const std::uint32_t to = last_of(readers.front());
    Size& size = sizes[to];
    const std::uint32_t arguments =
        size.arguments + count - static_cast<std::uint32_t>(readers.size());
    if (patterns[to].kind != GroupPattern::Kind::plain || widens(*firsts[to]) ||
        size.nodes == kMaxInitialNodes || arguments > kMaxArguments ||
        !std::ranges::equal(patterns[to].shape(), patterns[i].shape()) ||
        !std::ranges::all_of(readers, [&](const Node* reader) { return last_of(reader) == to; }))
      continue;
    last[i] = to;
    size = {.nodes = size.nodes + 1, .arguments = arguments};
  }
  return last;
}

void Groups::add_to_call_group(const Node* node) {
  for (const Node* other : results_of_call(graph_, *node)) {
    if (!other || home(other) < 0) continue;
    Value& known = value(node);
    known.home = home(other);
    known.groups.push_back(known.home);
    at(known.home).nodes.push_back(node);
    return;
  }
}

}  // namespace sinter
