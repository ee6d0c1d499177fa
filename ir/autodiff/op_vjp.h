// Access to the vjp column of the op table: the functions that compute operand cotangents.
#pragma once

#include "ir/ops/op.h"
#include "sinter/graph.h"

#include <span>
#include <vector>

namespace sinter {

/// Records the cotangent of each operand, given the result `y` and its cotangent `g`.
using OpVjp = std::vector<Tensor> (*)(std::span<const Tensor> operands, Tensor y, Tensor g);

/// The vjp of an elementwise op, reduction, scan or library op; null for all other ops.
OpVjp vjp_of(Op op);

}  // namespace sinter
