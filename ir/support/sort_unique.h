// Sorts a list and removes its duplicates.
#pragma once

#include <algorithm>
#include <type_traits>

namespace sinter {

/// Sorts `list` by value and removes its duplicates. The order of pointers differs from run to run,
/// so lists of pointers do not compile. compiler/fusion/group.h sorts nodes: `sort_unique_by_id`.
template <class List>
requires(!std::is_pointer_v<typename List::value_type>) void sort_unique(List& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace sinter
