// Results of other shapes than a kernel's iteration space: which of the places where a value is at
// hand give each of its elements just once.
#pragma once

#include "compiler/body/body.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sinter {

/// Where a body has `node` at hand: its element at `position`, wherever all `conditions` hold.
struct Site {
  const Node* node = nullptr;
  std::vector<Index> position;
  std::vector<Condition> conditions;
  int value = -1;                    ///< -1: to be made of what is at hand at `from`
  std::shared_ptr<const Site> from;  ///< of an operand
  /// What all elements are at hand of, of which `node` has each in a place of its own; none: `node`
  /// itself. Elements that are turned round are proven to be all there before they are; of slices,
  /// `conditions` then say which ones.
  std::shared_ptr<const Site> whole = nullptr;
  /// Of what is repeated: which copy of `whole` this is, and of how many.
  int copy = 0;
  int copies = 1;
};

/// True for views, and for gathers that only say in which order what is there comes.
bool rearranges(const Node& node);

/// The site of an operand as one of `view`, which rearranges some of its elements or all; nullopt
/// where the view has no inverse.
std::optional<Site> invert_view(IndexSpace& space, const Node& view, const Site& site);

/// The same of a slice as conditions on places where the operand has every element; nullopt for all
/// other views.
std::optional<Site> invert_slice(IndexSpace& space, const Node& view, const Site& site);

/// The sites of an operand's elements in `view`, a broadcast that repeats all of them a few times:
/// one for each copy, in their order. Empty where it does not, or they are too many.
std::vector<Site> repeated(const Node& view, const Site& site);

struct StoreMapping {
  std::vector<Condition> conditions;
  std::vector<Index> position;  ///< of the site, in fewer words where the conditions hold
  /// Extents with symbols: where one of them is 0, the place that stores is not there.
  std::vector<Extent> at_least_one;
};

/// Conditions under which the places of `body`'s rows, or of their elements, give each element of
/// an array of `shape` once. nullopt where `site` is not seen to have every element.
std::optional<StoreMapping> map_store(Body& body, bool of_elements, const Site& site,
                                      std::span<const Extent> shape);

/// True if `at`, along rows, moves by one element along an axis that loads of their elements do so
/// too: neighbouring threads, which read neighbours, then write neighbours.
bool follows_loads(const Body& body, const Index& at);

}  // namespace sinter
