// The topological order of groups: finds paths between two groups, and a position for their union.
// Positions stay valid as groups merge, so a search visits only groups between the two (Pearce and
// Kelly 2006). If these are many, the longest chain of groups often answers at once. A group that
// leads to one link also leads to all dependents of later links.
#include <algorithm>
#include <utility>

#include "compiler/fusion/group.h"

namespace sinter {

namespace {

// Maximum edges that a search visits; without a limit it would grow with the program. On the corpus
// of real programs, half as many lose some merges, and four times as many find no more.
constexpr std::size_t kMaxVisits = 256;

}  // namespace

void Groups::find_chain() {
  std::vector<int> order;  // alive groups, by position
  order.reserve(groups_.size());
  for (int group = 0; group < size(); ++group)
    if ((*this)[group].alive) order.push_back(group);
  const auto position_of = [&](int group) { return (*this)[group].position; };
  if (!std::ranges::is_sorted(order, {}, position_of)) std::ranges::sort(order, {}, position_of);
  // The producers of all groups, group by group.
  std::vector<std::size_t> producers;
  std::vector<std::size_t> ends;
  ends.reserve(order.size());
  for (const int group : order) {
    for (const Node* node : (*this)[group].loads)
      if (const int from = home(node); from >= 0 && from != group)
        producers.push_back(static_cast<std::size_t>(from));
    ends.push_back(producers.size());
  }
  const auto producers_of = [&](std::size_t i) {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(producers).subspan(begin, ends[i] - begin);
  };

  // The length of the longest path to each group, and the predecessor on that path.
  std::vector<int> depth(groups_.size(), 0), before(groups_.size(), -1);
  int last = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::size_t>(order[i]);
    for (const std::size_t from : producers_of(i)) {
      if (depth[from] < depth[at]) continue;
      depth[at] = depth[from] + 1;
      before[at] = static_cast<int>(from);
    }
    if (last < 0 || depth[at] > depth[static_cast<std::size_t>(last)]) last = order[i];
  }

  chain_before_.assign(groups_.size(), -1);
  chain_after_.assign(groups_.size(), size());
  for (int at = last; at >= 0; at = before[static_cast<std::size_t>(at)]) {
    const auto link = static_cast<std::size_t>(at);
    chain_before_[link] = chain_after_[link] = depth[link];
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t from : producers_of(i)) {
      int& position = chain_before_[static_cast<std::size_t>(order[i])];
      position = std::max(position, chain_before_[from]);
    }
  for (std::size_t i = order.size(); i-- > 0;)
    for (const std::size_t from : producers_of(i))
      chain_after_[from] =
          std::min(chain_after_[from], chain_after_[static_cast<std::size_t>(order[i])]);
}

Groups::Detour Groups::ancestors(int group, int first, GroupNumbers& found) {
  std::size_t visits = 0;
  bool is_reached = false;
  const std::uint32_t search = ++search_;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].loads) {
      const int producer = home(node);
      ++visits;
      if (producer == first)
        is_reached = is_reached || at != group;
      else
        is_reached = is_reached || (producer >= 0 && is_before(first, producer));
      if (producer < 0 || (*this)[producer].position <= (*this)[first].position) continue;
      if (!is_seen(producer, search)) found.push_back(producer);
    }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMaxVisits && !is_reached; ++i)
    visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  if (is_reached) return Detour::some;
  return visits <= kMaxVisits ? Detour::none : Detour::too_far_to_tell;
}

bool Groups::descendants(int group, int last, GroupNumbers& found) {
  std::size_t visits = 0;
  const std::uint32_t search = ++search_;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].stores)
      for (const Node* user : users(node))
        for (const int reader : value(user).groups) {
          if (++visits > kMaxVisits) return;
          if ((*this)[reader].position >= last || reader == at || contains(reader, node)) continue;
          if (!is_seen(reader, search)) found.push_back(reader);
        }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMaxVisits; ++i) visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  return visits <= kMaxVisits;
}

int Groups::last_position(std::span<const int> groups) const {
  int result = -1;
  for (const int group : groups) result = std::max(result, (*this)[group].position);
  return result;
}

Groups::Between Groups::between(int a, int b) {
  if ((*this)[a].position > (*this)[b].position) std::swap(a, b);
  Between result;
  result.detour = ancestors(b, a, result.before);
  if (result.detour != Detour::none) return result;
  // If `b` depends on groups after `a`, the merge also moves the dependents of `a` among them.
  const bool can_move =
      result.before.empty() || descendants(a, last_position(result.before), result.after);
  if (!can_move) result.detour = Detour::too_far_to_tell;
  return result;
}

void Groups::assign_position(int into, int from, Between between) {
  const int first = (*this)[into].position < (*this)[from].position ? into : from;
  const auto to = static_cast<std::size_t>(into), gone = static_cast<std::size_t>(from);
  chain_before_[to] = std::max(chain_before_[to], chain_before_[gone]);
  chain_after_[to] = std::min(chain_after_[to], chain_after_[gone]);
  at(into).position = (*this)[first].position;
  if (between.before.empty() && between.after.empty()) return;

  // Dependencies of the second group go before the union, dependents of the first go after it.
  const auto position_of = [&](int group) { return (*this)[group].position; };
  std::ranges::sort(between.before, {}, position_of);
  std::ranges::sort(between.after, {}, position_of);

  GroupNumbers moved = std::move(between.before);
  moved.push_back(into);
  moved.append(between.after.begin(), between.after.end());
  GroupNumbers positions;
  for (const int group : moved) positions.push_back(position_of(group));
  std::ranges::sort(positions);
  for (std::size_t i = 0; i < moved.size(); ++i) at(moved[i]).position = positions[i];
}

}  // namespace sinter
