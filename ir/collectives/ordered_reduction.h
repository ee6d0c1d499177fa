// Reductions over ranks along the reduction tree of docs/internals: the ranks exchange the operands
// of the reduction, and sinter's own reductions compute it.
#pragma once

#include "ir/record/record.h"
#include "sinter/collectives.h"

namespace sinter {

/// The reduction of `axis`, in the dtype of x; in f32 for the mean of integers.
Tensor reduced(Tensor x, RankReduction reduction, int axis);

/// The reduction of the pieces [n, ...] of all ranks, with shape [...].
Tensor ordered_all_reduce(const Operand& pieces, const RankGroup& group, RankReduction reduction);

/// The reduction over the ranks of x [ranks * n, ...], of which each rank gets its part [n, ...].
Tensor ordered_reduce_scatter(const Operand& x, const RankGroup& group, RankReduction reduction);

}  // namespace sinter
