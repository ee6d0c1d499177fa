// The queue of pairs that may be merged gives them in the order of a plain list of all of them.
#include "compiler/fusion/merge_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace sinter::merge_queue_test {
namespace {

/// Groups with versions, which merge at random, and all their pairs in one list.
class Groups {
 public:
  explicit Groups(int groups) : versions_(static_cast<std::size_t>(groups)), queue_(groups) {}

  /// New pairs of `owner` with some others.
  void score(int owner) {
    const auto is_now = [&](int group, int version) { return is_current(group, version); };
    queue_.begin_list(owner, version(owner), is_now);
    for (int i = 0; i < 6; ++i) {
      const int other = random(size());
      if (other == owner || version(other) < 0) continue;
      const std::pair<int, int> ends = std::minmax(owner, other);
      // Few different numbers, so that some are equal.
      const Candidate pair{.saved = random(5) * 1.5, .a = ends.first, .b = ends.second};
      if (std::ranges::find(scored_, ends) != scored_.end()) continue;
      scored_.push_back(ends);
      queue_.add(pair, owner, version(other));
      all_.push_back({.pair = pair, .version_a = version(pair.a), .version_b = version(pair.b)});
    }
    scored_.clear();
    queue_.end_list(owner);
  }

  std::optional<Candidate> pop() {
    return queue_.pop([&](int group, int version) { return is_current(group, version); });
  }

  /// What `pop` should give, from the list of all pairs.
  std::optional<Candidate> best() {
    std::erase_if(all_, [&](const Known& known) {
      return !is_current(known.pair.a, known.version_a) ||
             !is_current(known.pair.b, known.version_b);
    });
    const auto best = std::ranges::min_element(all_, {}, [](const Known& known) {
      return std::tuple(-known.pair.saved, known.pair.a, known.pair.b);
    });
    if (best == all_.end()) return std::nullopt;
    const Candidate pair = best->pair;
    all_.erase(best);
    return pair;
  }

  void merge(int into, int from) {
    versions_[static_cast<std::size_t>(from)] = -1;
    ++versions_[static_cast<std::size_t>(into)];
  }

  int size() const { return static_cast<int>(versions_.size()); }
  int random(int below) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<int>((state_ >> 8) % static_cast<std::uint32_t>(below));
  }

 private:
  struct Known {
    Candidate pair;
    int version_a;
    int version_b;
  };
  int version(int group) const { return versions_[static_cast<std::size_t>(group)]; }
  bool is_current(int group, int version) const { return this->version(group) == version; }

  std::vector<int> versions_;  ///< -1: part of another group
  MergeQueue queue_;
  std::vector<Known> all_;
  std::vector<std::pair<int, int>> scored_;
  std::uint32_t state_ = 1;
};

TEST(MergeQueue, GivesPairsInTheOrderOfAPlainList) {
  for (const int size : {1, 2, 3, 100, 700}) {
    SCOPED_TRACE(size);
    Groups groups(size);
    for (int group = 0; group < size; ++group) groups.score(group);
    while (true) {
      const std::optional<Candidate> found = groups.pop(), expected = groups.best();
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (!found) break;
      ASSERT_EQ(std::tuple(found->saved, found->a, found->b),
                std::tuple(expected->saved, expected->a, expected->b));
      if (groups.random(3) == 0) continue;  // refused
      groups.merge(found->a, found->b);
      groups.score(found->a);
    }
  }
}

}  // namespace
}  // namespace sinter::merge_queue_test
