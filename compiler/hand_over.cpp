#include "compiler/hand_over.h"

#include <array>
#include <utility>
#include <vector>

#include "ir/structural.h"

namespace sinter {

namespace {

/// What `reader` makes of `value`, which it alone loads, step by step and of nothing else, up to
/// what is smaller in memory; with the results that are views of these steps. Empty if there is no
/// such thing, or `reader` does nothing else.
std::vector<const Node*> made_smaller(const Groups& groups, int reader, const Node* value,
                                      NodeSizes& sizes) {
  std::vector<const Node*> made;
  if (groups.is_wanted_outside(value, groups.home(value), reader)) return {};
  for (const Node* at = value;;) {
    const bool is_smaller = sizes.bytes(*at) < sizes.bytes(*value);
    const Node* next = nullptr;
    for (const Node* user : groups.readers_within(reader, at)) {
      const bool is_copy = is_view(*user);
      if (!is_copy && is_smaller) continue;
      if (groups.is_recomputed(user) || groups.reads(user).size() != 1) return {};
      if (!is_copy && (next || is_reduction(user->op) || is_scan(user->op))) return {};
      made.push_back(user);
      if (!is_copy) next = user;
    }
    if (is_smaller) break;
    if (!next || next->op == Op::scatter) return {};
    at = next;
  }
  return made.size() < groups[reader].nodes.size() ? made : std::vector<const Node*>();
}

}  // namespace

bool hand_over_smaller_values(Groups& groups, NodeSizes& sizes,
                              const std::function<double(int)>& seconds) {
  bool result = false;
  for (int reader = 0; reader < groups.size(); ++reader) {
    if (!groups[reader].alive || groups[reader].is_placed) continue;
    const Nodes loads = groups[reader].loads;
    for (const Node* load : loads) {
      const int maker = groups.home(load);
      if (maker < 0 || groups[maker].is_placed) continue;
      const std::vector<const Node*> made = made_smaller(groups, reader, load, sizes);
      if (made.empty()) continue;
      const double before = seconds(maker) + seconds(reader);
      Groups::Snapshot saved = groups.snapshot(std::array{maker, reader});
      groups.hand_over(made, reader, maker);
      if (seconds(maker) + seconds(reader) < before)
        result = true;
      else
        groups.restore(std::move(saved));
    }
  }
  return result;
}

}  // namespace sinter
