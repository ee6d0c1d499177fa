#include "compiler/fusion/group.h"

#include <algorithm>
#include <iterator>

#include "compiler/body/body_request.h"
#include "compiler/body_building/build_body.h"

namespace sinter {

namespace {

void drop_if(Nodes& nodes, auto is_unwanted) {
  nodes.erase(std::ranges::remove_if(nodes, is_unwanted).begin(), nodes.end());
}

/// The union of two lists that are sorted by id.
Nodes node_union(std::span<const Node* const> a, std::span<const Node* const> b) {
  Nodes result;
  result.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(result), {}, &Node::id, &Node::id);
  return result;
}

/// Merges `more` into `nodes`; both are sorted by id.
void unite(Nodes& nodes, std::span<const Node* const> more) {
  std::size_t left = nodes.size(), added = more.size();
  const bool is_behind = left == 0 || added == 0 || nodes.back()->id < more.front()->id;
  nodes.append(more.begin(), more.end());
  if (is_behind) return;
  // Merges in place, from the end.
  bool repeats = false;
  for (std::size_t to = nodes.size(); added > 0;) {
    const bool takes_old = left > 0 && nodes[left - 1]->id >= more[added - 1]->id;
    repeats |= takes_old && nodes[left - 1] == more[added - 1];
    nodes[--to] = takes_old ? nodes[--left] : more[--added];
  }
  if (repeats) nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

/// The pattern of a group of `nodes`.
GroupPattern pattern_of(std::span<const Node* const> nodes) {
  if (nodes.empty()) return {};
  GroupPattern result = pattern_of(*nodes[0]);
  for (const Node* node : nodes.subspan(1)) result = merged_pattern(result, pattern_of(*node));
  return result;
}

}  // namespace

void sort_unique_by_id(Nodes& nodes) {
  std::ranges::sort(nodes, {}, &Node::id);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

std::string Groups::name(const Node* node) const { return names_.of(graph_).of(node); }

bool Groups::is_needed_outside(const Node* node, int group, int partner) const {
  const Value& known = value(node);
  if (known.is_result) return true;
  const auto loads = [&](int reader) {
    return reader >= 0 &&
           std::ranges::binary_search((*this)[reader].loads, node->id, {}, &Node::id);
  };
  std::uint32_t others = known.loaders;
  if (others > 0 && known.home != group && loads(group)) --others;
  if (others > 0 && loads(partner)) --others;
  return others > 0;
}

bool Groups::is_used_by_others(const Node* node, int group) const {
  const auto is_in_other = [&](const Node* one) {
    return std::ranges::any_of(value(one).groups, [&](int other) { return other != group; });
  };
  return is_in_other(node) || std::ranges::any_of(users(node), is_in_other);
}

bool Groups::has_other_reader(int group, const Node* node,
                              std::span<const Node* const> nodes) const {
  return std::ranges::any_of(users(node), [&](const Node* user) {
    return contains(group, user) && std::ranges::find(nodes, user) == nodes.end();
  });
}

void Groups::find_stores(int group) {
  Group& target = at(group);
  target.stores.clear();
  for (const Node* node : target.nodes)
    if (home(node) == group && is_needed_outside(node, group)) target.stores.push_back(node);
}

void Groups::drop_unneeded_store(int group, const Node* node) {
  if (is_needed_outside(node, group)) return;
  Nodes& stores = at(group).stores;
  const auto store = std::ranges::lower_bound(stores, node->id, {}, &Node::id);
  if (store != stores.end() && *store == node) stores.erase(store);
}

void Groups::find_loads(int group) {
  count_loads(group, -1);
  Group& target = at(group);
  target.loads.clear();
  for (const Node* node : target.nodes)
    for (const Node* read : reads(node))
      if (!contains(group, read)) target.loads.push_back(read);
  sort_unique_by_id(target.loads);
  count_loads(group, 1);
}

/// Callers subtract the loads of a group before they change, and add them again afterwards.
void Groups::count_loads(int group, int by) {
  for (const Node* node : (*this)[group].loads)
    value(node).loaders += static_cast<std::uint32_t>(by);
}

GroupNumbers Groups::readers(int group, std::span<const Node* const> nodes) {
  GroupNumbers result;
  visit_readers(group, nodes, [&](int reader) { result.push_back(reader); });
  std::ranges::sort(result);
  return result;
}

GroupNumbers Groups::producers(int group) {
  GroupNumbers result;
  visit_producers(group, [&](int producer) { result.push_back(producer); });
  std::ranges::sort(result);
  return result;
}

void Groups::set_focus(int group) {
  focused_ = group;
  focus_mark_ = ++search_;
  homes_of_loads_.clear();
  shared_loads_.clear();
  for (const Node* node : (*this)[group].loads) {
    Value& known = value(node);
    known.mark = focus_mark_;
    homes_of_loads_.push_back(known.home);
    if (known.groups.size() > 1) shared_loads_.push_back(node);
  }
}

Nodes Groups::readers_within(int group, const Node* node) const {
  Nodes result;
  for (const Node* user : users(node))
    if (contains(group, user)) result.push_back(user);
  return result;
}

Groups::UnionTraffic Groups::union_traffic_with(int other, int b, NodeSizes& sizes) {
  const Group& focused = (*this)[focused_];
  const Group& other_group = (*this)[other];
  UnionTraffic result{.arguments =
                          focused.stores.size() + other_group.stores.size() + focused.loads.size()};
  // A value that one stores and the other reads is an argument only if a third group reads it too.
  // Values that `b` reads from `a` are no longer loaded, and usually not stored.
  const auto sink = [&](const Node* node, Value& known, int reader) {
    const bool is_needed = known.is_result || known.loaders > 1;
    result.arguments -= is_needed ? 0 : 1;
    if (reader == b) result.saved += bytes(known, node, sizes) * (is_needed ? 1 : 2);
  };
  for (std::size_t i = 0; i < homes_of_loads_.size(); ++i)
    if (homes_of_loads_[i] == other) {
      --result.arguments;
      sink(focused.loads[i], value(focused.loads[i]), focused_);
    }
  for (const Node* node : shared_loads_)
    if (home(node) != other && contains(other, node)) --result.arguments;
  for (const Node* node : other_group.loads) {
    Value& known = value(node);
    if (known.mark == focus_mark_)
      result.saved += bytes(known, node, sizes);
    else if (known.home == focused_)
      sink(node, known, other);
    else if (!contains(focused_, known))
      ++result.arguments;
  }
  return result;
}

void Groups::merge(int into, int from, Between between) {
  assign_position(into, from, std::move(between));
  Group& target = at(into);
  Group& source = at(from);
  target.pattern = union_pattern(into, from);
  unite(target.nodes, source.nodes);
  for (const Node* node : source.nodes) {
    Value& known = value(node);
    const bool is_in_both = contains(into, known);
    known.groups.erase(std::ranges::find(known.groups, from));
    if (!is_in_both) known.groups.push_back(into);
    if (known.home == from) known.home = into;
  }
  count_loads(into, -1);
  count_loads(from, -1);
  unite(target.loads, source.loads);
  unite(target.stores, source.stores);
  Nodes inside;  // loads of one group that the other group computes
  drop_if(target.loads, [&](const Node* node) {
    if (!contains(into, node)) return false;
    inside.push_back(node);
    return true;
  });
  count_loads(into, 1);
  drop_if(inside, [&](const Node* node) {
    if (home(node) != into) return false;
    drop_unneeded_store(into, node);
    return true;
  });
  source = {.version = source.version, .alive = false};
  ++target.version;
  remove_reader(inside);
}

void Groups::recompute(int group, std::span<const Node* const> nodes) {
  Group& target = at(group);
  Nodes added;
  for (const Node* node : nodes) {
    if (contains(group, node)) continue;
    added.push_back(node);
    add_to_group(node, group);
    target.pattern = merged_pattern(target.pattern, pattern_of(*node));
  }
  sort_unique_by_id(added);
  unite(target.nodes, added);
  find_loads(group);
  ++target.version;
}

void Groups::sink(std::span<const Node* const> nodes, int from, int to) {
  for (const Node* node : nodes) {
    add_to_group(node, to);
    remove_from_group(node, from);
  }
  Group& source = at(from);
  drop_if(source.nodes, [&](const Node* node) { return !contains(from, node); });
  source.pattern = pattern_of(source.nodes);
  drop_unused(from);
  Group& target = at(to);
  Nodes added(nodes.begin(), nodes.end());
  sort_unique_by_id(added);
  unite(target.nodes, added);
  target.pattern = pattern_of(target.nodes);
  drop_unused(to);
}

void Groups::drop_unused(int group) {
  Group& target = at(group);
  find_stores(group);
  // Users have larger ids, so one loop over descending ids visits each node after all its readers.
  const std::uint32_t search = ++search_;
  const auto is_needed = [&](const Node* node) { return value(node).mark == search; };
  for (const Node* node : target.stores) value(node).mark = search;
  bool drops = false;
  for (std::size_t i = target.nodes.size(); i-- > 0;) {
    if (!is_needed(target.nodes[i]))
      drops = true;
    else
      for (const Node* read : reads(target.nodes[i])) value(read).mark = search;
  }
  if (drops) {
    for (const Node* node : target.nodes)
      if (!is_needed(node)) remove_from_group(node, group);
    drop_if(target.nodes, [&](const Node* node) { return !is_needed(node); });
    target.pattern = pattern_of(target.nodes);
  }
  find_loads(group);
  target.alive = !target.nodes.empty();
  ++target.version;
}

void Groups::remove_reader(std::span<const Node* const> nodes) {
  for (const Node* node : nodes) {
    const int group = home(node);
    if (group < 0 || !(*this)[group].alive) continue;
    drop_unneeded_store(group, node);
    if (!(*this)[group].stores.empty()) continue;
    const Nodes loads = (*this)[group].loads;
    drop_unused(group);
    remove_reader(loads);
  }
  changes_.clear();  // these are never undone
}

void Groups::add_to_group(const Node* node, int group) {
  llvm::SmallVector<int, 2>& in = value(node).groups;
  changes_.push_back({.node = node, .home = home(node), .groups = in});
  in.push_back(group);
}

void Groups::remove_from_group(const Node* node, int group) {
  llvm::SmallVector<int, 2>& in = value(node).groups;
  changes_.push_back({.node = node, .home = home(node), .groups = in});
  in.erase(std::ranges::find(in, group));
  // Another group that computes it becomes its home. No group loads it any more.
  if (home(node) == group) value(node).home = in.empty() ? -1 : in.front();
}

Groups::Snapshot Groups::snapshot(std::span<const int> groups) {
  changes_.clear();
  Snapshot result{.numbers = {groups.begin(), groups.end()}};
  result.groups.reserve(groups.size());
  for (const int group : groups) result.groups.push_back((*this)[group]);
  return result;
}

void Groups::restore(Snapshot before) {
  for (std::size_t i = 0; i < before.numbers.size(); ++i) {
    count_loads(before.numbers[i], -1);
    at(before.numbers[i]) = std::move(before.groups[i]);
    count_loads(before.numbers[i], 1);
  }
  for (; !changes_.empty(); changes_.pop_back()) {
    Membership& change = changes_.back();
    value(change.node).home = change.home;
    value(change.node).groups = std::move(change.groups);
  }
}

Groups::KernelNodes Groups::kernel_nodes(int a, int b) const {
  KernelNodes result{.nodes = (*this)[a].nodes, .stores = {}};
  Nodes stores = (*this)[a].stores;
  if (b >= 0) {
    result.nodes = node_union(result.nodes, (*this)[b].nodes);
    stores = node_union(stores, (*this)[b].stores);
  }
  for (const Node* node : stores) {
    if (!is_needed_outside(node, a, b)) continue;
    result.stores.push_back({.node = node, .strides = strides_.lookup(node)});
    if (const auto others = other_strides_.find(node); others != other_strides_.end())
      for (const std::span<const Extent> strides : others->second)
        result.stores.push_back({.node = node, .strides = strides});
  }
  return result;
}

KernelContents Groups::contents(int group, NodeSizes& sizes) const {
  const Group& of = (*this)[group];
  KernelContents result{.nodes = of.nodes, .loads = of.loads, .stores = of.stores};
  if (other_strides_.empty()) return result;
  for (const Node* node : of.stores)
    if (const auto others = other_strides_.find(node); others != other_strides_.end())
      result.further_bytes += static_cast<double>(others->second.size()) * sizes.bytes(*node);
  return result;
}

BodyRequest Groups::request(const KernelNodes& kernel) const {
  return {.nodes = kernel.nodes, .stores = kernel.stores, .strides = [this](const Node* node) {
            return strides_.lookup(node);
          }};
}

BodyAnswer Groups::body(const KernelNodes& kernel, const NodeNames& names) const {
  ++work_.bodies_built;
  work_.values_built += static_cast<std::int64_t>(kernel.nodes.size());
  return build_body(request(kernel), names);
}

}  // namespace sinter
