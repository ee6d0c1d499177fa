// Pairs of groups that might become one, the best first.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinter {

/// Two groups that might become one.
struct Candidate {
  double saved = 0;  ///< bytes
  int a = 0;
  int b = 0;
};

/// Each pair is in the list of one of its groups, its *owner*: the one that changed last. The best
/// pairs of all lists meet in a tournament: when groups merge, most of their pairs are out of date
/// without ever having stood in it. `is_current(group, version)`, which is asked of pairs that come
/// up, says whether a group is still what it was.
class MergeQueue {
 public:
  explicit MergeQueue(int groups)
      : best_(static_cast<std::size_t>(groups)),
        lists_(static_cast<std::size_t>(groups)),
        winners_(2 * static_cast<std::size_t>(groups)) {
    for (std::uint32_t owner = 0; owner < size(); ++owner) winners_[size() + owner] = owner;
    for (std::uint32_t match = size(); match-- > 1;) winners_[match] = winners_[2 * match];
  }

  /// What is added next are pairs of `owner`, which has this version now; its old ones are gone.
  void begin_list(int owner, int version, std::predicate<int, int> auto is_current) {
    if (offers_.capacity() - offers_.size() < kRoom) forget(is_current);
    list(owner) = {
        .begin = static_cast<std::uint32_t>(offers_.size()), .size = 0, .version = version};
  }
  /// `version` is that of the other group.
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
    play(static_cast<std::uint32_t>(owner), best);
  }

  /// Takes the one that saves most out, of pairs of groups that are as they were.
  std::optional<Candidate> pop(std::predicate<int, int> auto is_current) {
    while (size() > 0) {
      if (popped_ >= 0) end_list(popped_);
      const std::uint32_t winner = size() > 1 ? winners_[1] : 0;
      if (best_[winner] == Rank{}) break;
      // Its next pair plays only when its list has not begun anew until then.
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
  /// More pairs than almost any list has.
  static constexpr std::size_t kRoom = 256;
  /// Larger is better, and none is worst: what saves more, then what was recorded first.
  struct Rank {
    std::uint64_t saved = 0;  ///< the bits of a number that is not negative: they grow with it
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

  /// `owner` plays again all matches that this may change.
  void play(std::uint32_t owner, const Rank& best) {
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

  /// Drops the first pair of a list and those that are out of date.
  void drop_first(int owner, std::predicate<int, int> auto is_current) {
    List& own = list(owner);
    Offer* const first = offers_.data() + own.begin;
    Offer* const end = std::remove_if(first + 1, first + own.size, [&](const Offer& offer) {
      return !is_current(static_cast<int>(offer.other), offer.version);
    });
    ++own.begin;
    own.size = static_cast<std::uint32_t>(end - first) - 1;
  }

  /// Before the pairs grow many, those of old lists go: they take no more memory than what may
  /// still be merged.
  void forget(std::predicate<int, int> auto is_current) {
    std::size_t kept = 0;
    for (std::uint32_t owner = 0; owner < size(); ++owner) {
      List& own = lists_[owner];
      if (own.size == 0) continue;
      if (!is_current(static_cast<int>(owner), own.version)) {
        own.size = 0;
        play(owner, {});
      }
      kept += own.size;
    }
    std::vector<Offer> offers;
    offers.reserve(kept + kept / 2 + 2 * kRoom);
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
  /// By match: that of `m` is between the winners of 2m and 2m + 1; the latter half are the owners.
  std::vector<std::uint32_t> winners_;
  int popped_ = -1;  ///< the owner of the latest pair that was taken, if it has not played since
  std::vector<Offer> offers_;  ///< of all lists
};

}  // namespace sinter
