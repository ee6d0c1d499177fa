// MergeQueue returns candidate pairs in the order of a sorted list of all pairs.
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

/// Versioned groups that merge at random, and a plain list of all their pairs as a reference.
class Groups {
 public:
  explicit Groups(int groups) : versions_(static_cast<std::size_t>(groups)), queue_(groups) {}

  /// Adds pairs of `owner` with random other groups.
  void score(int owner) {
    const auto is_now = [&](int group, int version) { return is_current(group, version); };
    queue_.begin_list(owner, version(owner), is_now);
    for (int i = 0; i < 6; ++i) {
      const int other = random(size());
      if (other == owner || version(other) < 0) continue;
      const std::pair<int, int> ends = std::minmax(owner, other);
      // Few distinct scores, so that some are equal.
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

  /// The expected result of `pop`, from the list of all pairs.
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

  std::vector<int> versions_;  ///< -1: merged into another group
  MergeQueue queue_;
  std::vector<Known> all_;
  std::vector<std::pair<int, int>> scored_;
  std::uint32_t state_ = 1;
};

TEST(MergeQueue, ReturnsPairsInTheOrderOfAList) {
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
      if (groups.random(3) == 0) continue;  // the pair is not merged
      groups.merge(found->a, found->b);
      groups.score(found->a);
    }
  }
}

}  // namespace
}  // namespace sinter::merge_queue_test
