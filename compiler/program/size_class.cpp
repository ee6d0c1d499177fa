#include "compiler/program/size_class.h"

#include <algorithm>
#include <bit>

#include "compiler/program/reduction_tree.h"

namespace sinter {

namespace {

/// Rows of more elements are not kept: a cluster of 16 blocks holds fewer.
constexpr std::int64_t kLongestResident = std::int64_t{1} << 21;
/// Shorter rows need so few registers that one class per tree wastes little.
constexpr std::int64_t kLongestOfOneClass = 1024;

}  // namespace

SizeClass class_of_tree(std::int64_t length) {
  if (length == 0) return {.low = 0, .high = 0};
  const Tree tree = tree_of(length);
  if (tree.parts > 1)
    return {.low = tree.parts * 4096,
            .high = tree.parts < 1024 ? tree.parts * 8192 - 1 : INT64_MAX};
  return {.low = tree.accumulators == 1 ? 1 : tree.accumulators * 2 + 1,
          .high = tree.accumulators == 512 ? 8191 : tree.accumulators * 4};
}

SizeClass class_of_residency(std::int64_t length) {
  const SizeClass tree = class_of_tree(length);
  if (length <= kLongestOfOneClass || length > kLongestResident) return tree;
  // Trees of one part change behind a power of two, the others at one. Powers of two are frequent
  // lengths, so they waste little: nothing below 8192, a ninth from there on.
  const bool has_parts = tree_of(length).parts > 1;
  const auto half = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(has_parts ? length : length - 1)));
  SizeClass result = {.low = half + (has_parts ? 0 : 1), .high = 2 * half - (has_parts ? 1 : 0)};
  const auto split_at = [&](std::int64_t end) {
    if (length <= end)
      result.high = std::min(result.high, end);
    else
      result.low = std::max(result.low, end + 1);
  };
  if (has_parts) split_at(half + half / 8);
  split_at(half + half / 2);
  return {.low = std::max(result.low, tree.low), .high = std::min(result.high, tree.high)};
}

SizeClass class_of_residency(Extent extent, const Facts& facts) {
  if (extent.is_number()) return {.low = extent.number(), .high = extent.number()};
  return class_of_residency(evaluate(extent, facts.symbols));
}

}  // namespace sinter
