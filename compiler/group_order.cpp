// The order of groups: what lies between two of them, and where their union may stand. Places are
// kept in topological order as groups merge, so that only what stands between the two is looked at
// (Pearce and Kelly 2006).
#include <algorithm>
#include <utility>

#include "compiler/group.h"
#include "sinter/error.h"

namespace sinter {

namespace {

// Beyond so many steps a merge is not worth the search.
constexpr std::size_t kMostVisits = 1024;

}  // namespace

std::optional<std::vector<int>> Groups::ancestors(int group, int first) const {
  std::vector<int> found;
  llvm::DenseSet<int> seen;
  std::size_t visits = 0;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].loads) {
      const int producer = home(node);
      ++visits;
      if (producer >= 0 && (*this)[producer].place > first && seen.insert(producer).second)
        found.push_back(producer);
    }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMostVisits; ++i) visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  if (visits > kMostVisits) return std::nullopt;
  return found;
}

std::optional<std::vector<int>> Groups::descendants(int group, int last) const {
  std::vector<int> found;
  llvm::DenseSet<int> seen;
  std::size_t visits = 0;
  const auto visit = [&](int at) {
    for (const Node* node : (*this)[at].stores)
      for (const Node* user : users(node))
        for (const int reader : groups_of_[user->id]) {
          if (++visits > kMostVisits) return;
          if ((*this)[reader].place < last && reader != at && !contains(reader, node) &&
              seen.insert(reader).second)
            found.push_back(reader);
        }
  };
  visit(group);
  for (std::size_t i = 0; i < found.size() && visits <= kMostVisits; ++i) visit(found[i]);
  work_.cycle_check_visits += static_cast<std::int64_t>(visits);
  if (visits > kMostVisits) return std::nullopt;
  return found;
}

int Groups::last_place(std::span<const int> groups) const {
  int result = -1;
  for (const int group : groups) result = std::max(result, (*this)[group].place);
  return result;
}

Groups::Detour Groups::detour(int a, int b) const {
  if ((*this)[a].place > (*this)[b].place) std::swap(a, b);
  const auto before = ancestors(b, (*this)[a].place);
  if (!before) return Detour::too_far_to_tell;
  for (const int between : *before)
    for (const Node* node : (*this)[between].loads)
      if (home(node) == a) return Detour::some;
  // Merging will move those that wait for `a` as well, if any of the others stand among them.
  const bool can_move = before->empty() || descendants(a, last_place(*before));
  return can_move ? Detour::none : Detour::too_far_to_tell;
}

void Groups::find_place(int into, int from) {
  const bool is_first = (*this)[into].place < (*this)[from].place;
  const int first = is_first ? into : from;
  const int second = is_first ? from : into;
  // What the second one waits for stands before their union, what waits for the first one after it.
  std::vector<int> before = *ancestors(second, (*this)[first].place);
  std::vector<int> after;
  if (!before.empty()) after = *descendants(first, last_place(before));
  const auto place_of = [&](int group) { return (*this)[group].place; };
  std::ranges::sort(before, {}, place_of);
  std::ranges::sort(after, {}, place_of);

  std::vector<int> moved = std::move(before);
  moved.push_back(into);
  moved.insert(moved.end(), after.begin(), after.end());
  at(into).place = (*this)[first].place;
  std::vector<int> places;
  for (const int group : moved) places.push_back(place_of(group));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < moved.size(); ++i) at(moved[i]).place = places[i];
}

}  // namespace sinter
