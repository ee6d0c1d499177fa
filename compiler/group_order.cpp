// The order of groups: what lies between two of them, and where their union may stand. Places are
// kept in topological order as groups merge, so that only what stands between the two is looked at
// (Pearce and Kelly 2006).
#include <algorithm>
#include <utility>

#include "compiler/group.h"

namespace sinter {

namespace {

// Beyond so many edges a merge is not worth the search, which would else grow with the program.
// Half of them would cost the corpus of real programs some merges, four times as many find no more
// there.
constexpr std::size_t kMostVisits = 256;

}  // namespace

Groups::Detour Groups::ancestors(int group, int first, std::vector<int>& found) {
  std::size_t visits = 0;
  bool is_reached = false;
  const std::uint32_t search = ++search_;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].loads) {
      const int producer = home(node);
      ++visits;
      is_reached = is_reached || (producer == first && at != group);
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

bool Groups::descendants(int group, int last, std::vector<int>& found) {
  std::size_t visits = 0;
  const std::uint32_t search = ++search_;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].stores)
      for (const Node* user : users(node))
        for (const int reader : groups_of_[user->id]) {
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
  // What the second one waits for stands before their union, what waits for the first one after it.
  const auto place_of = [&](int group) { return (*this)[group].place; };
  std::ranges::sort(between.before, {}, place_of);
  std::ranges::sort(between.after, {}, place_of);

  std::vector<int> moved = std::move(between.before);
  moved.push_back(into);
  moved.insert(moved.end(), between.after.begin(), between.after.end());
  at(into).place = (*this)[first].place;
  std::vector<int> places;
  for (const int group : moved) places.push_back(place_of(group));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < moved.size(); ++i) at(moved[i]).place = places[i];
}

}  // namespace sinter
