#include "compiler/group.h"
#include "ir/structural.h"

#include <algorithm>

namespace sinter {

namespace {

bool computes(const Node& node) { return !is_view(node) && !is_source(node.op); }

/// Nodes that outputs and updates need, operands first.
std::vector<const Node*> reachable(const GraphData& graph) {
  llvm::DenseSet<const Node*> seen;
  std::vector<const Node*> pending;
  for (const OutputInfo& output : graph.outputs)
    if (!output.is_left_out) pending.push_back(output.node);
  for (const UpdateInfo& update : graph.updates) pending.push_back(update.value);
  std::vector<const Node*> result;
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!seen.insert(node).second) continue;
    result.push_back(node);
    for (const Node* operand : node->operands) pending.push_back(operand);
  }
  std::ranges::sort(result, {}, [](const Node* node) { return node->id; });
  return result;
}

}  // namespace

Groups::Groups(const GraphData& graph) : names_(std::make_shared<const ValueNames>(graph)) {
  for (const OutputInfo& output : graph.outputs) {
    if (output.is_left_out) continue;
    wanted_.insert(output.node);
    strides_.try_emplace(output.node, output.strides);  // the first one is read by others
  }
  for (const UpdateInfo& update : graph.updates) wanted_.insert(update.value);
  // through[v]: what a reader of the view v really reads.
  llvm::DenseMap<const Node*, llvm::SmallVector<const Node*, 4>> through;
  for (const Node* node : reachable(graph)) {
    llvm::SmallVector<const Node*, 4> reads;
    for (const Node* operand : node->operands) {
      if (operand->op == Op::input || computes(*operand)) {
        reads.push_back(operand);
      } else {
        const llvm::SmallVector<const Node*, 4>& from = through[operand];
        reads.append(from.begin(), from.end());
      }
    }
    std::ranges::sort(reads, {}, [](const Node* read) { return read->id; });
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    if (computes(*node) || wanted_.contains(node)) {
      reads_[node] = reads;
      for (const Node* read : reads)
        if (read != node) users_[read].push_back(node);
      groups_.emplace_back();
      const Node* const nodes[] = {node};
      home_[node] = size() - 1;
      insert(size() - 1, nodes);
    }
    if (!computes(*node) && node->op != Op::input) through[node] = std::move(reads);
  }
}

bool Groups::contains(int group, const Node* node) const {
  const auto found = groups_of_.find(node);
  return found != groups_of_.end() &&
         std::ranges::find(found->second, group) != found->second.end();
}

int Groups::home(const Node* node) const {
  const auto found = home_.find(node);
  return node->op == Op::input || found == home_.end() ? -1 : found->second;
}

std::span<const Node* const> Groups::reads(const Node* node) const {
  const auto found = reads_.find(node);
  if (found == reads_.end()) return {};
  return {found->second.data(), found->second.size()};
}

bool Groups::is_wanted_outside(const Node* node, int group, int besides) const {
  if (wanted_.contains(node)) return true;
  const auto users = users_.find(node);
  if (users == users_.end()) return false;
  for (const Node* user : users->second) {
    const auto in = groups_of_.find(user);
    for (const int reader : in->second)
      if (reader != group && reader != besides && !contains(reader, node)) return true;
  }
  return false;
}

std::vector<const Node*> Groups::stores(int group) const {
  std::vector<const Node*> result;
  for (const Node* node : (*this)[group].nodes)
    if (home_.find(node)->second == group && is_wanted_outside(node, group, -1))
      result.push_back(node);
  return result;
}

std::vector<const Node*> Groups::loads(int group) const {
  std::vector<const Node*> result;
  for (const Node* node : (*this)[group].nodes)
    for (const Node* read : reads(node))
      if (read->op == Op::input || !contains(group, read)) result.push_back(read);
  std::ranges::sort(result, {}, [](const Node* node) { return node->id; });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<int> Groups::consumers(int group) const {
  std::vector<int> result;
  for (const Node* node : stores(group)) {
    const auto users = users_.find(node);
    if (users == users_.end()) continue;
    for (const Node* user : users->second)
      for (const int reader : groups_of_.find(user)->second)
        if (reader != group && !contains(reader, node)) result.push_back(reader);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<int> Groups::producers(int group) const {
  std::vector<int> result;
  for (const Node* node : loads(group))
    if (const int from = home(node); from >= 0 && from != group) result.push_back(from);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool Groups::has_detour(int from, int to) const {
  // Nodes are recorded after what they read: a group that starts after `to` ends is on no way to
  // it.
  const std::uint32_t last = (*this)[to].nodes.back()->id;
  llvm::DenseSet<int> seen;
  std::vector<int> pending;
  for (const int next : consumers(from))
    if (next != to) pending.push_back(next);
  while (!pending.empty()) {
    const int at = pending.back();
    pending.pop_back();
    if (!seen.insert(at).second || (*this)[at].nodes.front()->id > last) continue;
    for (const int next : consumers(at)) {
      if (next == to) return true;
      pending.push_back(next);
    }
  }
  return false;
}

void Groups::insert(int group, std::span<const Node* const> nodes) {
  Group& target = groups_[static_cast<std::size_t>(group)];
  for (const Node* node : nodes) {
    if (contains(group, node)) continue;
    target.nodes.push_back(node);
    groups_of_[node].push_back(group);
  }
  std::ranges::sort(target.nodes, {}, [](const Node* node) { return node->id; });
  ++target.version;
}

void Groups::merge(int into, int from) {
  Group& source = groups_[static_cast<std::size_t>(from)];
  const std::vector<const Node*> nodes = std::move(source.nodes);
  source.nodes.clear();
  source.alive = false;
  for (const Node* node : nodes) {
    llvm::SmallVector<int, 2>& in = groups_of_[node];
    in.erase(std::find(in.begin(), in.end(), from));
    if (home_[node] == from) home_[node] = into;
  }
  insert(into, nodes);
}

void Groups::recompute(int group, std::span<const Node* const> nodes) { insert(group, nodes); }

void Groups::drop_unused(int group) {
  Group& target = groups_[static_cast<std::size_t>(group)];
  llvm::DenseSet<const Node*> needed;
  std::vector<const Node*> pending = stores(group);
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!contains(group, node) || !needed.insert(node).second) continue;
    for (const Node* read : reads(node)) pending.push_back(read);
  }
  for (const Node* node : target.nodes) {
    if (needed.contains(node)) continue;
    llvm::SmallVector<int, 2>& in = groups_of_[node];
    in.erase(std::find(in.begin(), in.end(), group));
    // Whoever else computes it becomes its home; nobody reads it from memory any more.
    if (home_[node] == group && !in.empty()) home_[node] = in.front();
  }
  std::erase_if(target.nodes, [&](const Node* node) { return !needed.contains(node); });
  target.alive = !target.nodes.empty();
  ++target.version;
}

BodyAnswer Groups::body(int a, int b) const {
  std::vector<const Node*> nodes = (*this)[a].nodes;
  std::vector<StoreRequest> wanted;
  if (b >= 0)
    for (const Node* node : (*this)[b].nodes)
      if (!contains(a, node)) nodes.push_back(node);
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->id; });
  for (const Node* node : nodes) {
    const int at = home_.find(node)->second;
    if ((at == a || at == b) && is_wanted_outside(node, a, b))
      wanted.push_back({.node = node, .strides = strides_.lookup(node)});
  }
  return build_body({.nodes = nodes,
                     .stores = wanted,
                     .strides = [this](const Node* node) { return strides_.lookup(node); }},
                    [this](const Node* node) { return name(node); });
}

}  // namespace sinter
