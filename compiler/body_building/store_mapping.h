// Maps results to positions of an iteration space of another shape: finds positions that store each
// element exactly once.
#pragma once

#include "compiler/body/body.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sinter {

/// A position where the body has `node` available: its element at `position`, wherever all
/// `conditions` hold.
struct Site {
  const Node* node = nullptr;
  std::vector<Index> position;
  std::vector<Condition> conditions = {};
  int value = -1;  ///< -1: to be computed from the available value at `source`
  std::shared_ptr<const Site> source = nullptr;  ///< of an operand
  /// The site that is proven to have all elements, if it is not this one. `node` has each of them
  /// at a distinct position. For a rotation, it is the operand's site. For a slice, additional
  /// `conditions` select the elements.
  std::shared_ptr<const Site> complete_site = nullptr;
  /// For a repeating broadcast: the number of this copy of the complete site, and the number of
  /// copies.
  int copy = 0;
  int copies = 1;
};

/// The shift of a `take` that rotates its axis: element i of the result is element (i + shift) mod
/// extent of the operand. The shift is from 1 up to the extent. nullopt for all other nodes.
std::optional<std::int64_t> rotated_by(const Node& node);
/// True for views that contain each element of their operand once.
bool has_all_of_operand(const Node& view);
/// True for views, and for gathers that only reorder their operand.
bool rearranges(const Node& node);

/// Converts a site of an operand into a site of `view`, which rearranges some or all of its
/// elements. Returns nullopt if the view has no inverse.
std::optional<Site> invert_view(IndexSpace& space, const Node& view, const Site& site);

/// The same for a slice, as conditions on positions where the operand has every element; nullopt
/// for all other views.
std::optional<Site> invert_slice(IndexSpace& space, const Node& view, const Site& site);

/// The sites of an operand's elements in `view`, a broadcast that repeats all of them: one site per
/// copy, in order. Empty for other views, or if there are too many copies.
std::vector<Site> repeated(const Node& view, const Site& site);

struct StoreMapping {
  std::vector<Condition> conditions;
  std::vector<Index> position;  ///< of the site, simplified under the conditions
  /// Symbolic extents that must not be 0: otherwise the storing position does not exist.
  std::vector<Extent> at_least_one;
};

/// Finds conditions under which positions of `body`'s rows (or of their elements, if `of_elements`)
/// give each element of an array of `shape` once. Returns nullopt if `site` does not provably have
/// every element.
std::optional<StoreMapping> map_store(Body& body, bool of_elements, const Site& site,
                                      std::span<const Extent> shape);

/// True if `at` has a stride of 1 along an axis along which a load also has a stride of 1. Adjacent
/// threads, which load adjacent elements, then store adjacent elements.
bool follows_loads(const Body& body, const Index& at);

}  // namespace sinter
