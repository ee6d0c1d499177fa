// The cost of one application of an op: instructions, bytes, and the size of a reduction's state.
#pragma once

#include "compiler/program/kernel.h"

namespace sinter {

/// Approximate instructions of one application of an op, that is, the cost of recomputing it. For a
/// reduction: of accumulating one element.
int instructions_of(Op op);

double bytes_of(Extent elements, DType dtype, const Facts& facts);
/// Bytes of the accumulator state of a reduction.
int state_bytes(const Node& reduction);

}  // namespace sinter
