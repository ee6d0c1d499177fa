// Finds the items of a list by their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinter {

/// Places in a list by a hash of what is there, which is kept beside them: a search looks at no
/// item but those of its hash, and growing at none at all.
class IdTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The id that was added with `hash` and for which `is_wanted(id)` holds.
  std::optional<std::uint32_t> find(std::uint64_t hash, auto is_wanted) const {
    if (places_.empty()) return std::nullopt;
    const auto key = static_cast<std::uint32_t>(hash);
    for (std::size_t at = key & mask();; at = (at + 1) & mask()) {
      const Place& place = places_[at];
      if (place.id == kNone) return std::nullopt;
      if (place.hash == key && is_wanted(place.id)) return place.id;
    }
  }
  void add(std::uint64_t hash, std::uint32_t id) {
    if ((count_ + 1) * 3 > places_.size() * 2) resize(places_.empty() ? 16 : places_.size() * 2);
    put({.hash = static_cast<std::uint32_t>(hash), .id = id});
    ++count_;
  }
  /// Gives each id the number that it has in `numbers`, and forgets those whose number is `kNone`.
  void renumber(const std::vector<std::uint32_t>& numbers) {
    std::vector<Place> before(places_.size());
    before.swap(places_);
    count_ = 0;
    for (const Place& place : before) {
      if (place.id == kNone || numbers[place.id] == kNone) continue;
      put({.hash = place.hash, .id = numbers[place.id]});
      ++count_;
    }
  }
  /// Makes place for so many ids in all.
  void reserve(std::size_t count) {
    std::size_t size = 16;
    while (count * 3 > size * 2) size *= 2;
    if (size > places_.size()) resize(size);
  }

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t id = kNone;
  };

  std::size_t mask() const { return places_.size() - 1; }
  void put(Place place) {
    std::size_t at = place.hash & mask();
    while (places_[at].id != kNone) at = (at + 1) & mask();
    places_[at] = place;
  }
  void resize(std::size_t size) {
    std::vector<Place> before(size);
    before.swap(places_);
    for (const Place& place : before)
      if (place.id != kNone) put(place);
  }

  std::vector<Place> places_;  ///< a power of two of them, at most two thirds taken
  std::size_t count_ = 0;
};

}  // namespace sinter
