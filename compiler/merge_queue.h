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
    if (offers_.size() >= most_) forget(is_current);
    list(owner) = {
        .begin = static_cast<std::uint32_t>(offers_.size()), .size = 0, .version = version};
  }
  /// `version` is that of the other group.
  void add(const Candidate& candidate, int owner, int version) {
    offers_.push_back({.rank = rank_of(candidate), .version = version});
    ++list(owner).size;
  }
  void end_list(int owner) {
    const List& own = list(owner);
    Offer* const first = offers_.data() + own.begin;
    if (own.size > 0) std::swap(*first, *std::max_element(first, first + own.size));
    if (popped_ == owner) popped_ = -1;
    play(static_cast<std::uint32_t>(owner), own.size > 0 ? first->rank : Rank{});
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
      if (is_current(other(top, popped_), top.version)) return candidate_of(top.rank);
    }
    return std::nullopt;
  }

 private:
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
    Rank rank;
    int version = 0;  ///< of the group that is not the owner
    friend bool operator<(const Offer& x, const Offer& y) { return x.rank < y.rank; }
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
  static Candidate candidate_of(const Rank& rank) {
    return {.saved = std::bit_cast<double>(rank.saved),
            .a = static_cast<int>(~rank.order >> 32),
            .b = static_cast<int>(static_cast<std::uint32_t>(~rank.order))};
  }
  static int other(const Offer& offer, int owner) {
    const Candidate pair = candidate_of(offer.rank);
    return pair.a == owner ? pair.b : pair.a;
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
      return !is_current(other(offer, owner), offer.version);
    });
    ++own.begin;
    own.size = static_cast<std::uint32_t>(end - first) - 1;
  }

  /// Before the pairs grow many, those of old lists go: they take no more memory than what may
  /// still be merged.
  void forget(std::predicate<int, int> auto is_current) {
    std::vector<Offer> kept;
    for (std::uint32_t owner = 0; owner < size(); ++owner) {
      List& own = lists_[owner];
      const auto begin = static_cast<std::uint32_t>(kept.size());
      if (own.size > 0 && is_current(static_cast<int>(owner), own.version))
        kept.insert(kept.end(), offers_.begin() + own.begin,
                    offers_.begin() + own.begin + own.size);
      const bool is_gone = kept.size() == begin;
      own.begin = begin;
      own.size = static_cast<std::uint32_t>(kept.size()) - begin;
      if (is_gone) play(owner, {});
    }
    offers_ = std::move(kept);
    most_ = std::max(most_, offers_.size() * 2);
  }

  std::vector<Rank> best_;   ///< of each list
  std::vector<List> lists_;  ///< by owner
  /// By match: that of `m` is between the winners of 2m and 2m + 1; the latter half are the owners.
  std::vector<std::uint32_t> winners_;
  int popped_ = -1;  ///< the owner of the latest pair that was taken, if it has not played since
  std::vector<Offer> offers_;  ///< of all lists
  std::size_t most_ = 1024;
};

}  // namespace sinter
