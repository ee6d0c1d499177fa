// A hash table that finds the items of a list by their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinter {

/// Maps the hash of an item to its index in a list. The table stores the hash next to the index. A
/// search therefore compares only items with an equal hash, and growth reads no items.
class IdTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The id that was added with `hash` and satisfies `is_wanted(id)`.
  std::optional<std::uint32_t> find(std::uint64_t hash, auto is_wanted) const {
    if (slots_.empty()) return std::nullopt;
    const auto key = static_cast<std::uint32_t>(hash);
    for (std::size_t at = key & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.id == kNone) return std::nullopt;
      if (slot.hash == key && is_wanted(slot.id)) return slot.id;
    }
  }
  void add(std::uint64_t hash, std::uint32_t id) {
    if ((count_ + 1) * 3 > slots_.size() * 2) resize(slots_.empty() ? 16 : slots_.size() * 2);
    insert_slot({.hash = static_cast<std::uint32_t>(hash), .id = id});
    ++count_;
  }
  /// Replaces each id by `numbers[id]`, and removes the ids whose number is `kNone`.
  void renumber(const std::vector<std::uint32_t>& numbers) {
    std::vector<Slot> before(slots_.size());
    before.swap(slots_);
    count_ = 0;
    for (const Slot& slot : before) {
      if (slot.id == kNone || numbers[slot.id] == kNone) continue;
      insert_slot({.hash = slot.hash, .id = numbers[slot.id]});
      ++count_;
    }
  }
  /// Allocates space for `count` ids in total.
  void reserve(std::size_t count) {
    std::size_t size = 16;
    while (count * 3 > size * 2) size *= 2;
    if (size > slots_.size()) resize(size);
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = kNone;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  void insert_slot(Slot slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].id != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void resize(std::size_t size) {
    std::vector<Slot> before(size);
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.id != kNone) insert_slot(slot);
  }

  std::vector<Slot> slots_;  ///< their number is a power of two; at most two thirds are used
  std::size_t count_ = 0;
};

}  // namespace sinter
