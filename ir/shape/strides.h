// Strides: where the elements of an array lie, and whether each has a place of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/support/adt.h"
#include "sinter/shape.h"

namespace sinter {

/// Row-major strides of `shape`, in elements.
std::vector<Extent> row_major_strides(std::span<const Extent> shape);
/// Elements from the first to the last one that an array touches; 0 where an axis is 0 for certain.
Extent span_of(std::span<const Extent> shape, std::span<const Extent> strides);
/// The axes from the one with the largest stride to the one with the smallest, as far as that is
/// known of symbols; others stay in their order.
llvm::SmallVector<int, 6> memory_order(std::span<const Extent> strides);

/// True if each element surely has a place of its own: every stride goes beyond all that the
/// smaller ones reach. Strides along axes of one element do not matter.
bool is_injective(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
/// False if two elements share a place whatever the symbols are.
bool may_be_injective(std::span<const Extent> shape, std::span<const Extent> strides);

}  // namespace sinter
