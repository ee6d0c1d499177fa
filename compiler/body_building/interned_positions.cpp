#include "compiler/body_building/interned_positions.h"

#include <algorithm>

#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

std::uint64_t mix(std::uint64_t hash, Extent extent) {
  hash = mix(hash, static_cast<std::uint64_t>(extent.number()));
  return extent.is_number() ? hash
                            : mix(hash, reinterpret_cast<std::uintptr_t>(extent.expression()));
}

/// Clears the topmost bit, because the map reserves two keys.
std::uint32_t hash_of(std::span<const Index> at) {
  std::uint64_t hash = at.size();
  for (const Index& index : at) {
    hash = mix(hash, index.constant);
    for (const IndexTerm& term : index.terms)
      hash = mix(mix(hash, static_cast<std::uint64_t>(term.atom->id)), term.coefficient);
  }
  return static_cast<std::uint32_t>(hash) >> 1;
}

std::uint32_t hash_of(std::span<const Extent> shape) {
  std::uint64_t hash = shape.size();
  for (const Extent extent : shape) hash = mix(hash, extent);
  return static_cast<std::uint32_t>(hash) >> 1;
}

}  // namespace

template <class List, class Item>
int InternedPositions::intern(Interned<List>& known, std::span<const Item> list) {
  int& newest = known.newest.try_emplace(hash_of(list), -1).first->second;
  for (int number = newest; number >= 0; number = known.next[static_cast<std::size_t>(number)])
    if (std::ranges::equal(known.lists[static_cast<std::size_t>(number)], list)) return number;
  known.next.push_back(newest);
  newest = static_cast<int>(known.lists.size());
  known.lists.emplace_back(list.begin(), list.end());
  return newest;
}

int InternedPositions::of(std::span<const Index> at) { return intern(positions_, at); }

int InternedPositions::shape(std::span<const Extent> shape) {
  return shape.empty() ? -1 : intern(shapes_, shape);
}

template <class Make>
const Index& InternedPositions::known(Kind kind, int position, std::span<const Extent> extents,
                                      const Make& make) {
  constexpr int kKinds = 3;
  const auto [found, is_new] =
      known_.try_emplace({position, shape(extents) * kKinds + static_cast<int>(kind)});
  if (is_new) found->second = make();
  return found->second;
}

const Index& InternedPositions::number_in(IndexSpace& space, int position,
                                          std::span<const Extent> extents) {
  return known(Kind::number, position, extents,
               [&] { return space.linearize(at(position), extents); });
}

const Index& InternedPositions::offset_in(IndexSpace& space, int position,
                                          std::span<const Extent> extents) {
  return known(Kind::offset, position, extents, [&] {
    return space.without_bounds(address(space, at(position), row_major_strides(extents)));
  });
}

const Index& InternedPositions::address_in(IndexSpace& space, int position,
                                           std::span<const Extent> strides) {
  return known(Kind::address, position, strides,
               [&] { return address(space, at(position), strides); });
}

}  // namespace sinter
