// The vjp column of the op table: what each op passes back to its operands.
#pragma once

#include "ir/ops/op.h"
#include "sinter/graph.h"

#include <span>
#include <vector>

namespace sinter {

/// Records the cotangents of `operands`, for the result `y` and its cotangent `g`.
using OpVjp = std::vector<Tensor> (*)(std::span<const Tensor> operands, Tensor y, Tensor g);

/// The vjp of the row of `op`: of elementwise ops, reductions and scans. Null for all others.
OpVjp vjp_of(Op op);

}  // namespace sinter
