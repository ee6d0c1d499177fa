// The way back through broadcasting and the structural ops.
#pragma once

#include "ir/ops/op.h"
#include "sinter/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

/// The cotangent of an operand of `shape` that was broadcast to g's shape.
Tensor unbroadcast(Tensor g, std::span<const Extent> shape);

/// The way back of unfold: along `axis`, of `extent` elements, each is the sum of all elements that
/// lie over it of the windows g [..., windows, ..., size], which are `step` apart. Halves are added
/// up in f32 and rounded once.
Tensor folded(Tensor g, std::size_t axis, std::int64_t step, Extent extent);

/// The cotangent of `y`'s operand number `operand`, which is floating, for the cotangent `g` of
/// `y`, the result of a structural op. Empty where the op has no gradient (bitcast).
Tensor structural_vjp(Tensor y, std::size_t operand, Tensor g);

/// Whether a structural op has one: all have but bitcast, since the bits of a number have no slope.
constexpr bool has_structural_vjp(Op op) { return op != Op::bitcast; }

}  // namespace sinter
