// Strides: row-major strides, the memory span, the memory order of axes, and overlap checks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/support/adt.h"
#include "sinter/shape.h"

namespace sinter {

/// Row-major strides of `shape`, in elements.
std::vector<Extent> row_major_strides(std::span<const Extent> shape);
/// The end of the elements of an array whose first element is at `offset`: the last element plus 1;
/// 0 if an extent is the number 0.
Extent strided_end(std::span<const Extent> shape, std::span<const Extent> strides,
                   Extent offset = 0);
/// The axes by descending stride. Axes with equal strides, or with symbolic strides that cannot be
/// compared, keep their order.
llvm::SmallVector<int, 6> memory_order(std::span<const Extent> strides);

/// True if no two elements share an address: every stride exceeds the reach of all smaller strides.
/// Axes of extent 1 are ignored. False also for a few layouts that do not overlap.
bool is_injective(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
/// False if two elements share an address for all values of the symbols. Checks only the axes with
/// constant extent and stride.
bool may_be_injective(std::span<const Extent> shape, std::span<const Extent> strides);

}  // namespace sinter
