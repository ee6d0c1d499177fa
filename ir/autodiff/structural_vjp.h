// Cotangents of operands of the structural ops, and of operands that were broadcast.
#pragma once

#include "ir/ops/op.h"
#include "sinter/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

/// The cotangent of an operand of `shape` that was broadcast to g's shape.
Tensor unbroadcast(Tensor g, std::span<const Extent> shape);

/// The vjp of unfold. g is [..., windows, ..., size] with windows that begin `step` elements apart.
/// Each of the `extent` result elements along `axis` is the sum of g over all windows that contain
/// it. Halves are summed in f32 and rounded once.
Tensor fold_windows(Tensor g, std::size_t axis, std::int64_t step, Extent extent);

/// The cotangent of operand `operand`, which must be floating, of a structural op with result `y`
/// and cotangent `g`. An empty Tensor if the op has no gradient (bitcast).
Tensor structural_vjp(Tensor y, std::size_t operand, Tensor g);

/// True if a structural op has a vjp. Only bitcast has none: the bits of a number have no slope.
constexpr bool has_structural_vjp(Op op) { return op != Op::bitcast; }

}  // namespace sinter
