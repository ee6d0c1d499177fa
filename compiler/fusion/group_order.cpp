// The order of groups: what lies between two of them, and where their union may stand. Places are
// kept in topological order as groups merge, so that only what stands between the two is looked at
// (Pearce and Kelly 2006). Where that is much, the longest chain of groups mostly tells at once:
// what leads to a link of it leads to all that a later link leads to.
#include <algorithm>
#include <utility>

#include "compiler/fusion/group.h"

namespace sinter {

namespace {

// Beyond so many edges a merge is not worth the search, which would else grow with the program.
// Half of them would cost the corpus of real programs some merges, four times as many find no more
// there.
constexpr std::size_t kMostVisits = 256;

}  // namespace

void Groups::find_chain() {
  std::vector<int> order;  // of those alive, by place
  order.reserve(groups_.size());
  for (int group = 0; group < size(); ++group)
    if ((*this)[group].alive) order.push_back(group);
  const auto place = [&](int group) { return (*this)[group].place; };
  if (!std::ranges::is_sorted(order, {}, place)) std::ranges::sort(order, {}, place);
  // Whom they read from, one group's after the other's.
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

  // How many groups one after the other lead to a group, and the one before it among these.
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
      if (producer < 0 || (*this)[producer].place <= (*this)[first].place) continue;
      if (std::exchange(seen_[static_cast<std::size_t>(producer)], search) != search)
        found.push_back(producer);
    }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMostVisits && !is_reached; ++i)
    visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  if (is_reached) return Detour::some;
  return visits <= kMostVisits ? Detour::none : Detour::too_far_to_tell;
}

bool Groups::descendants(int group, int last, GroupNumbers& found) {
  std::size_t visits = 0;
  const std::uint32_t search = ++search_;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].stores)
      for (const Node* user : users(node))
        for (const int reader : value(user).groups) {
          if (++visits > kMostVisits) return;
          if ((*this)[reader].place >= last || reader == at || contains(reader, node)) continue;
          if (std::exchange(seen_[static_cast<std::size_t>(reader)], search) != search)
            found.push_back(reader);
        }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMostVisits; ++i) visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  return visits <= kMostVisits;
}

int Groups::last_place(std::span<const int> groups) const {
  int result = -1;
  for (const int group : groups) result = std::max(result, (*this)[group].place);
  return result;
}

Groups::Between Groups::between(int a, int b) {
  if ((*this)[a].place > (*this)[b].place) std::swap(a, b);
  Between result;
  result.detour = ancestors(b, a, result.before);
  if (result.detour != Detour::none) return result;
  // Merging will move those that wait for `a` as well, if any of the others stand among them.
  const bool can_move =
      result.before.empty() || descendants(a, last_place(result.before), result.after);
  if (!can_move) result.detour = Detour::too_far_to_tell;
  return result;
}

void Groups::find_place(int into, int from, Between between) {
  const int first = (*this)[into].place < (*this)[from].place ? into : from;
  const auto to = static_cast<std::size_t>(into), gone = static_cast<std::size_t>(from);
  chain_before_[to] = std::max(chain_before_[to], chain_before_[gone]);
  chain_after_[to] = std::min(chain_after_[to], chain_after_[gone]);
  at(into).place = (*this)[first].place;
  if (between.before.empty() && between.after.empty()) return;

  // What the second one waits for stands before their union, what waits for the first one after it.
  const auto place_of = [&](int group) { return (*this)[group].place; };
  std::ranges::sort(between.before, {}, place_of);
  std::ranges::sort(between.after, {}, place_of);

  GroupNumbers moved = std::move(between.before);
  moved.push_back(into);
  moved.append(between.after.begin(), between.after.end());
  GroupNumbers places;
  for (const int group : moved) places.push_back(place_of(group));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < moved.size(); ++i) at(moved[i]).place = places[i];
}

}  // namespace sinter
