// One reduction node for each level of the reduction tree.
#pragma once

#include "compiler/program/kernel.h"
#include "ir/graph/node.h"
#include "ir/record/record.h"

#include <vector>

namespace sinter {

/// The axes of each level, innermost level first; within a level outermost axis first.
using Levels = llvm::SmallVector<AxesVector, 2>;

/// The levels of a reduction that nests the axes of `shape` as `order` says (outermost first).
/// Neighbours merge while their product is at most kLargestMergedLevel; where that takes the values
/// of symbols, a guard keeps the answer valid. Neighbours in the shape before its last axis merge
/// whatever their product: [b, s, c] over b and s is summed as [b * s, c] over its rows.
Levels levels_of(std::span<const Extent> shape, std::span<const std::int64_t> order,
                 const Facts& facts, std::vector<Guard>& guards);

/// `op` applied to `x` level by level. A level that reduces nothing but extents of 1 is left out;
/// if that leaves none, the answer is `x` in the reduced shape.
Tensor reduce_levels(Op op, Tensor x, const Levels& levels, Keep kept, Location location);

}  // namespace sinter
