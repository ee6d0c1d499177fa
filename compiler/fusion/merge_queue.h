// A priority queue of pairs of groups that fusion might merge.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinter {

/// Two groups that fusion might merge.
struct Candidate {
  double saved = 0;  ///< bytes
  int a = 0;
  int b = 0;
};

/// Each pair is in the list of its *owner*, the group of the two that changed last. A tournament
/// tree compares the best pairs of all lists. When groups merge, most of their pairs become
/// outdated without ever having been compared. `is_current(group, version)` must return whether a
/// group still has this version.
class MergeQueue {
 public:
  explicit MergeQueue(int groups)
      : best_(static_cast<std::size_t>(groups)),
        lists_(static_cast<std::size_t>(groups)),
        winners_(2 * static_cast<std::size_t>(groups)) {
    for (std::uint32_t owner = 0; owner < size(); ++owner) winners_[size() + owner] = owner;
    for (std::uint32_t match = size(); match-- > 1;) winners_[match] = winners_[2 * match];
  }

  /// Starts a new list of `owner`, which has this version, and drops its old list. Calls of `add`
  /// follow.
  void begin_list(int owner, int version, std::predicate<int, int> auto is_current) {
    if (offers_.capacity() - offers_.size() < kMinFree) free_outdated(is_current);
    list(owner) = {
        .begin = static_cast<std::uint32_t>(offers_.size()), .size = 0, .version = version};
  }
  /// Adds a pair. `version` is that of the group that is not the owner.
  void add(const Candidate& candidate, int owner, int version) {
    const bool is_second = candidate.b == owner;
    offers_.push_back({.saved = candidate.saved,
                       .other = static_cast<std::uint32_t>(is_second ? candidate.a : candidate.b),
                       .is_owner_second = is_second,
                       .version = version});
    ++list(owner).size;
  }
  void end_list(int owner) {
    const List& own = list(owner);
    Offer* const first = offers_.data() + own.begin;
    Rank best;
    for (Offer* offer = first; offer != first + own.size; ++offer) {
      const Rank rank = rank_of(candidate_of(*offer, owner));
      if (!(best < rank)) continue;
      best = rank;
      std::swap(*first, *offer);
    }
    if (popped_ == owner) popped_ = -1;
    update_tournament(static_cast<std::uint32_t>(owner), best);
  }

  /// Removes and returns the current pair that saves most; nullopt if there is none.
  std::optional<Candidate> pop(std::predicate<int, int> auto is_current) {
    while (size() > 0) {
      if (popped_ >= 0) end_list(popped_);
      const std::uint32_t winner = size() > 1 ? winners_[1] : 0;
      if (best_[winner] == Rank{}) break;
      // Its next pair enters the tournament at the next pop, unless a new list replaces it.
      popped_ = static_cast<int>(winner);
      List& own = list(popped_);
      if (!is_current(popped_, own.version)) {
        own.size = 0;
        continue;
      }
      const Offer top = offers_[own.begin];
      drop_first(popped_, is_current);
      if (is_current(static_cast<int>(top.other), top.version)) return candidate_of(top, popped_);
    }
    return std::nullopt;
  }

 private:
  /// Longer than almost any list.
  static constexpr std::size_t kMinFree = 256;
  /// Larger is better: more bytes saved, then recorded first. The default is the worst.
  struct Rank {
    std::uint64_t saved = 0;  ///< the bits of a non-negative double, which sort like it
    std::uint64_t order = 0;
    friend bool operator==(const Rank&, const Rank&) = default;
    friend bool operator<(const Rank& x, const Rank& y) {
      return x.saved < y.saved || (x.saved == y.saved && x.order < y.order);
    }
  };
  struct Offer {
    double saved = 0;
    std::uint32_t other : 31 = 0;  ///< the group that is not the owner
    std::uint32_t is_owner_second : 1 = 0;
    int version = 0;  ///< of the other group
  };
  struct List {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    int version = 0;  ///< of the owner
  };

  static Rank rank_of(const Candidate& candidate) {
    const auto a = static_cast<std::uint32_t>(candidate.a);
    const auto b = static_cast<std::uint32_t>(candidate.b);
    return {.saved = std::bit_cast<std::uint64_t>(candidate.saved),
            .order = ~((std::uint64_t{a} << 32) | b)};
  }
  static Candidate candidate_of(const Offer& offer, int owner) {
    const auto other = static_cast<int>(offer.other);
    return {.saved = offer.saved,
            .a = offer.is_owner_second ? other : owner,
            .b = offer.is_owner_second ? owner : other};
  }

  List& list(int owner) { return lists_[static_cast<std::size_t>(owner)]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(lists_.size()); }

  /// Updates the tournament for a new best pair of `owner`.
  void update_tournament(std::uint32_t owner, const Rank& best) {
    best_[owner] = best;
    std::uint32_t* const winners = winners_.data();
    const Rank* const ranks = best_.data();
    for (std::uint32_t match = (owner + size()) / 2; match >= 1; match /= 2) {
      const std::uint32_t one = winners[2 * match], another = winners[2 * match + 1];
      const std::uint32_t now = ranks[one] < ranks[another] ? another : one;
      if (winners[match] == now && now != owner) return;
      winners[match] = now;
    }
  }

  /// Drops the first pair of a list, and its outdated pairs.
  void drop_first(int owner, std::predicate<int, int> auto is_current) {
    List& own = list(owner);
    Offer* const first = offers_.data() + own.begin;
    Offer* const end = std::remove_if(first + 1, first + own.size, [&](const Offer& offer) {
      return !is_current(static_cast<int>(offer.other), offer.version);
    });
    ++own.begin;
    own.size = static_cast<std::uint32_t>(end - first) - 1;
  }

  /// Frees the pairs of outdated lists, so that memory grows only with pairs that may still merge.
  void free_outdated(std::predicate<int, int> auto is_current) {
    std::size_t kept = 0;
    for (std::uint32_t owner = 0; owner < size(); ++owner) {
      List& own = lists_[owner];
      if (own.size == 0) continue;
      if (!is_current(static_cast<int>(owner), own.version)) {
        own.size = 0;
        update_tournament(owner, {});
      }
      kept += own.size;
    }
    std::vector<Offer> offers;
    offers.reserve(kept + kept / 2 + 2 * kMinFree);
    for (List& own : lists_) {
      const auto begin = static_cast<std::uint32_t>(offers.size());
      const auto first = offers_.begin() + own.begin;
      if (own.size > 0) offers.insert(offers.end(), first, first + own.size);
      own.begin = begin;
    }
    offers_ = std::move(offers);
  }

  std::vector<Rank> best_;   ///< of each list
  std::vector<List> lists_;  ///< by owner
  /// The owner that wins each match: match m is between the winners of 2m and 2m + 1. The second
  /// half are the owners themselves.
  std::vector<std::uint32_t> winners_;
  int popped_ = -1;  ///< the owner of the latest popped pair, until its next pair is compared
  std::vector<Offer> offers_;  ///< of all lists
};

}  // namespace sinter
