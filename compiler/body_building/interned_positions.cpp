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

int InternedPositions::of(std::span<const Index> at) {
  int& newest = newest_.try_emplace(hash_of(at), -1).first->second;
  for (int position = newest; position >= 0; position = next_[static_cast<std::size_t>(position)])
    if (std::ranges::equal(positions_[static_cast<std::size_t>(position)], at)) return position;
  next_.push_back(newest);
  newest = static_cast<int>(positions_.size());
  positions_.emplace_back(at.begin(), at.end());
  return newest;
}

int InternedPositions::shape(std::span<const Extent> shape) {
  // -1 is the number of the shape of rank 0.
  if (shape.empty()) return -1;
  const int next = static_cast<int>(shapes_.size());
  const auto [known, is_new] = shape_of_.try_emplace(hash_of(shape), next);
  if (!is_new) {
    if (std::ranges::equal(shapes_[static_cast<std::size_t>(known->second)], shape))
      return known->second;
    const auto alike = std::ranges::find_if(
        shapes_, [&](std::span<const Extent> other) { return std::ranges::equal(other, shape); });
    if (alike != shapes_.end()) return static_cast<int>(alike - shapes_.begin());
  }
  shapes_.push_back(shape);
  return next;
}

std::pair<Index&, bool> InternedPositions::known(Kind kind, int position,
                                                 std::span<const Extent> extents) {
  constexpr int kKinds = 3;
  const auto [found, is_new] =
      known_.try_emplace({position, shape(extents) * kKinds + static_cast<int>(kind)});
  return {found->second, is_new};
}

const Index& InternedPositions::number_in(IndexSpace& space, int position,
                                          std::span<const Extent> extents) {
  const auto [number, is_new] = known(Kind::number, position, extents);
  if (is_new) number = space.linearize(at(position), extents);
  return number;
}

const Index& InternedPositions::offset_in(IndexSpace& space, int position,
                                          std::span<const Extent> extents) {
  const auto [offset, is_new] = known(Kind::offset, position, extents);
  if (is_new)
    offset = space.without_bounds(address(space, at(position), row_major_strides(extents)));
  return offset;
}

const Index& InternedPositions::address_in(IndexSpace& space, int position,
                                           std::span<const Extent> strides) {
  const auto [result, is_new] = known(Kind::address, position, strides);
  if (is_new) result = address(space, at(position), strides);
  return result;
}

}  // namespace sinter
