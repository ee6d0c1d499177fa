// Size classes of reduced extents: the lengths for which one program is planned.
#pragma once

#include <cstdint>

#include "compiler/program/kernel.h"

namespace sinter {

/// The lengths from `low` to `high`, both included.
struct SizeClass {
  std::int64_t low = 0;
  std::int64_t high = INT64_MAX;
};

/// The lengths whose reduction trees have as many parts and accumulators as that of `length`.
SizeClass class_of_tree(std::int64_t length);
/// The part of class_of_tree(length) for which one kernel keeps rows or columns resident. It has
/// space for the longest of them: above 1,024 elements, at most 1.5 times what the shortest needs.
SizeClass class_of_residency(std::int64_t length);
/// The lengths of class_of_residency that `extent` may have; a number has one length.
SizeClass class_of_residency(Extent extent, const Facts& facts);

/// Chunks of each part but the last, of a reduction over `extent` elements.
Extent chunks_per_part(Extent extent, std::int64_t parts);

}  // namespace sinter
