// Sorts a list and removes its duplicates.
#pragma once

#include <algorithm>

namespace sinter {

template <class List>
void sort_unique(List& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace sinter
