// The steps of lowering reductions: splits them into one node per level of the reduction tree, and
// unrolls small ones.
#pragma once

#include "compiler/program/kernel.h"
#include "ir/graph/node.h"
#include "ir/record/record.h"

#include <vector>

namespace sinter {

/// The axes of each level, innermost level first; within a level, outermost axis first.
using Levels = llvm::SmallVector<AxesVector, 2>;

/// The levels of a reduction that nests the axes of `shape` in `order` (outermost first). Adjacent
/// axes merge while their product is at most kLargestMergedLevel. If that decision uses values of
/// symbols, a guard keeps it valid. Adjacent axes before the last axis of the shape always merge:
/// [b, s, c] over b and s is summed as [b * s, c].
Levels levels_of(std::span<const Extent> shape, std::span<const std::int64_t> order,
                 const Facts& facts, std::vector<Guard>& guards);

/// Applies `op` to `x` level by level. Skips a level whose reduced extents are all 1. If that
/// leaves no level, returns `x` in the reduced shape.
Tensor reduce_levels(Op op, Tensor x, const Levels& levels, Keep kept, Location location);

/// Unrolls sums of up to 4 elements, one chunk of the tree, into additions in tree order. Applies
/// only if the sum is the only user of its operand and vectors do not run along the reduced axis. A
/// kernel over rows of these sums then needs no other kernel before it. Requires: lowered
/// reductions.
void unroll_small_reductions(GraphData& graph);

}  // namespace sinter
