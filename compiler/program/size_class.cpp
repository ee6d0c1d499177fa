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
  // Trees of several parts change at a power of two, and that of one part behind it. Powers of two
  // are the most frequent lengths, so nothing is wasted for them.
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(length)));
  if (power == length && tree_of(length).parts > 1) return {.low = length, .high = length};
  const std::int64_t half = power == length ? length / 2 : power;
  const std::int64_t middle = half + half / 2;
  if (length <= middle) return {.low = half + 1, .high = middle};
  return {.low = middle + 1, .high = std::min(2 * half, tree.high)};
}

SizeClass class_of_residency(Extent extent, const Facts& facts) {
  if (extent.is_number()) return {.low = extent.number(), .high = extent.number()};
  return class_of_residency(evaluate(extent, facts.symbols));
}

Extent chunks_per_part(Extent extent, std::int64_t parts) {
  return ceil_div(ceil_div(extent, kChunk), parts);
}

}  // namespace sinter
